// The page about proof names only tests and commands that exist.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(join(ROOT, 'docs/proof.md'), 'utf8')
const code = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)
const files = globSync('{src,test}/**/*.test.ts', { cwd: ROOT })

test('every test that the page names is there, and each defect has one', () => {
  const named = code.filter((text) => /^(src|test)\//.test(text))
  for (const path of named) assert(existsSync(join(ROOT, path)), path)
  const [, defects = ''] = page.split('## Serious defects so far')
  const rows = defects.split('\n').filter((line) => line.startsWith('| ')).slice(1)
  assert(rows.length >= 20, String(rows.length))
  for (const row of rows) assert.match(row, /\| `(src|test)\/[^`]+\.test\.ts` \|$/)
}) // prettier-ignore

test('every command that the page names is one', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const text of code) {
    const [, script] = /\bnpm run (\w+)/.exec(text) ?? []
    if (script !== undefined) assert(scripts[script] !== undefined, text)
    const [, word] = /\bnpm test -- (\S+)/.exec(text) ?? []
    if (word !== undefined)
      assert(
        files.some((file) => file.includes(word)),
        text,
      )
  }
})

test('no figure is left to fill in', () => {
  assert.doesNotMatch(page, /SOON/)
})
