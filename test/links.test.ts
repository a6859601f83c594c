// Links in the docs lead somewhere: to a file of the repository and, after a #, to a heading in it. Pages of the package only
// link to what is in the package, too. Links to the web are not followed.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = globSync('{*,docs/**/*,examples/**/*}.md', {
  cwd: ROOT,
  exclude: (name) => name === 'node_modules',
})
const LINK = /\]\(([^)\s]+)\)/g
const CODE = /^```[^]*?^```$|`[^`\n]*`/gm
const ELSEWHERE = /^[a-z]+:/

function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(CODE, '')
  return [...text.matchAll(LINK)].map(([, target = '']) => target)
}

/** The anchors of a page, made of its headings as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(page, 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(headings.map(anchorOf))
}

function anchorOf(heading: string): string {
  const plain = heading.replaceAll(/\]\([^)]*\)|[`[]/g, '').toLowerCase()
  return plain.replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
}

function isBroken(page: string, target: string): boolean {
  if (ELSEWHERE.test(target)) return false
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path)
  if (!existsSync(file)) return true
  return anchor !== undefined && !anchorsOf(file).has(anchor)
}

/** What package.json puts into the package. */
const { files: PACKED }: { readonly files: readonly string[] } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

function isPacked(path: string): boolean {
  return PACKED.includes(path.split('/')[0] ?? '')
}

function isLeftOut(page: string, target: string): boolean {
  const [path = ''] = target.split('#')
  return !ELSEWHERE.test(target) && path !== '' && !isPacked(join(dirname(page), path))
}

test('there are pages with links', () => {
  assert(PAGES.includes('README.md'))
  assert(linksOf('README.md').length > 10)
})

test('README.md stays short', () => {
  assert(readFileSync(join(ROOT, 'README.md'), 'utf8').split('\n').length <= 201)
})

test('the index of the docs links to every page', () => {
  const linked = linksOf('docs/README.md').map((target) => join('docs', target))
  const pages = PAGES.filter((page) => /^docs\/[^/]+\.md$/.test(page) && page !== 'docs/README.md')
  assert.deepEqual(pages.filter((page) => !linked.includes(page)), []) // prettier-ignore
})

for (const page of PAGES) {
  test(`the links in ${page} lead somewhere`, () => {
    assert.deepEqual(
      linksOf(page).filter((target) => isBroken(page, target)),
      [],
    )
  })

  test(`the links in ${page} lead somewhere in the package`, { skip: !isPacked(page) }, () => {
    assert.deepEqual(
      linksOf(page).filter((target) => isLeftOut(page, target)),
      [],
    )
  })
}
