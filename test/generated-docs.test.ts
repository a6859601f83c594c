// Pages that are made from the code must say what the code says now.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PAGES } from '../scripts/docs/pages.ts'

for (const { file, text } of PAGES) {
  test(`${file} is up to date: npm run docs`, async () => {
    assert.equal(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'), await text())
  })
}
