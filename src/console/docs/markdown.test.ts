import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkGroups, renderMarkdown } from './markdown.ts'

const html = (text: string): string => renderMarkdown(text, (target) => target).html.trim()

const CASES: readonly (readonly [string, string, string])[] = [
  ['raw HTML becomes text', '<img src=x onerror="a()">', '&lt;img src=x onerror=&quot;a()&quot;&gt;'],
  ['so does HTML inside of a paragraph', 'a <b onclick="x">b</b>', '<p>a &lt;b onclick=&quot;x&quot;&gt;b&lt;/b&gt;</p>'],
  ['and a comment with HTML behind it', '<!-- a --><script>x</script>', '&lt;!-- a --&gt;&lt;script&gt;x&lt;/script&gt;'],
  ['a comment is left out', '<!-- Written by a program. -->', ''],
  ['code is text', '`<b>`', '<p><code>&lt;b&gt;</code></p>'],
  ['a block of code is text', '```html "x\n</code><b>\n```', '<pre tabindex="0"><code class="language-html">&lt;/code&gt;&lt;b&gt;\n</code></pre>'],
  ['a target cannot leave its attribute', '[a](<x"onclick="y>)', '<p><a href="x&quot;onclick=&quot;y">a</a></p>'],
  ['an image has its text', '![a "b"](c.png)', '<p><img src="c.png" alt="a &quot;b&quot;"></p>'],
] // prettier-ignore
for (const [what, text, expected] of CASES) test(what, () => assert.equal(html(text), expected))

test('a target that leads nowhere leaves the text', () => {
  const { html } = renderMarkdown('[a *b*](javascript:x) ![c](d)', () => undefined)
  assert.equal(html.trim(), '<p>a <em>b</em> c</p>')
})

test('headings have the anchors that GitHub gives them', () => {
  const text = '# A `b` & [c](d)\n## What it *is*, and why?\n## Same\n## Same\n## Größe'
  const { title, html } = renderMarkdown(text, (target) => target)
  assert.equal(title, 'A b & c')
  const anchors = [...html.matchAll(/id="([^"]+)"/g)].map(([, anchor]) => anchor)
  assert.deepEqual(anchors, ['a-b--c', 'what-it-is-and-why', 'same', 'same-1', 'größe'])
})

test('a table scrolls by itself', () => {
  assert.match(html('| a |\n|---|\n| b |'), /^<div class="scroll" tabindex="0"[^>]*><table>/)
})

test('a table without a head has none', () => {
  assert.doesNotMatch(html('| | |\n|---|---|\n| a | b |'), /<th/)
})

test('an empty cell of the head is no heading', () => {
  assert.match(html('| | b |\n|---|---|\n| c | d |'), /<td><\/td>\n<th>b<\/th>/)
})

test('the lists of a page are its navigation', () => {
  const text =
    '# Top\n\n## One\n\n- [a `b`](c): d, [e](f)\n- none\n\n## Two\n\n## Three\n\n- [g](h)'
  assert.deepEqual(linkGroups(text), [
    { title: 'One', links: [{ text: 'a b', target: 'c' }] },
    { title: 'Three', links: [{ text: 'g', target: 'h' }] },
  ])
})
