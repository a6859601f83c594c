import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { openDocs } from './docs.ts'

const FOLDERS: string[] = []
after(() => FOLDERS.forEach((folder) => rmSync(folder, { recursive: true })))

function folderWith(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'lazuli-docs-'))
  FOLDERS.push(root)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

const PAGES = {
  'README.md': '# Top\n\n![p](docs/images/p.png) [e](examples/) [out](../secret)',
  'LICENSE': 'MIT <b>',
  'docs/README.md': '# Index\n\n## Group\n\n- [Page](page.md)\n- [Top](../README.md)',
  'docs/page.md': '# A page\n\n[t](../README.md#top) [gone](gone.md) [x](javascript:y) [w](https://w.example)',
  'docs/images/p.png': 'bytes',
  'examples/a/run.ts': 'const a = "```"',
  'examples/a/node_modules/b.md': '# No',
  'package.json': '{}',
} // prettier-ignore

const text = (docs: ReturnType<typeof openDocs>, url: string) => String(docs.get(url)?.bytes)

test('pages, pictures, programs and folders have URLs, and nothing else has one', () => {
  assert.deepEqual(openDocs(folderWith(PAGES)).urls.toSorted(), [
    '/docs/', '/docs/images/', '/docs/images/p.png', '/docs/page', '/docs/repository/LICENSE', '/docs/repository/README',
    '/docs/repository/docs/', '/docs/repository/examples/', '/docs/repository/examples/a/', '/docs/repository/examples/a/run.ts',
    '/docs/style.css',
  ]) // prettier-ignore
})

test('links lead to URLs, and those that lead nowhere are text', () => {
  const docs = openDocs(folderWith(PAGES))
  const page = text(docs, '/docs/page')
  assert.match(page, /<p><a href="\/docs\/repository\/README#top">t<\/a> gone x <a href="https:\/\/w.example">w<\/a><\/p>/) // prettier-ignore
  assert.match(page, /<li><a href="\/docs\/page" aria-current="page">Page<\/a><\/li>/)
  const top = text(docs, '/docs/repository/README')
  assert.match(top, /<img src="\/docs\/images\/p.png" alt="p"> <a href="\/docs\/repository\/examples\/">e<\/a> out/) // prettier-ignore
  assert.equal(docs.get('/docs/images/p.png')?.type, 'image/png')
  assert.match(text(docs, '/docs/repository/LICENSE'), /MIT &lt;b&gt;/)
  assert.match(text(docs, '/docs/repository/examples/a/run.ts'), /const a = &quot;```&quot;/)
})

test('a page that has changed is made again', () => {
  const root = folderWith(PAGES)
  const docs = openDocs(root)
  const before = docs.get('/docs/page')
  assert.equal(docs.get('/docs/page'), before)
  writeFileSync(join(root, 'docs/page.md'), '# Other')
  utimesSync(join(root, 'docs/page.md'), 2_000_000_000, 2_000_000_000)
  assert.match(text(docs, '/docs/page'), /Other/)
})

test('without an index there are no pages', () => {
  const docs = openDocs(folderWith({ 'README.md': '# Top', LICENSE: 'MIT' }))
  assert.deepEqual(docs.urls, ['/docs/style.css'])
  assert.equal(docs.get('/docs/'), undefined)
})
