// The console as the package has it: three files that are small together.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { buildConsole } from '../../scripts/console.mjs'

const BYTES_MAX = 80 * 1024

test('all files of the page together are at most 80 KiB, compressed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-console-'))
  try {
    buildConsole(folder)
    const bytesOf = (name: string): Buffer => readFileSync(join(folder, name))
    const names = readdirSync(folder).toSorted()
    assert.deepEqual(names, ['icon.svg', 'main.css', 'main.css.br', 'main.js', 'main.js.br'])
    for (const name of ['main.css', 'main.js'])
      assert(brotliDecompressSync(bytesOf(`${name}.br`)).equals(bytesOf(name)), name)
    const sent = ['icon.svg', 'main.css.br', 'main.js.br'].map((name) => bytesOf(name).length)
    const total = sent.reduce((sum, each) => sum + each, 0)
    assert(total <= BYTES_MAX, `${total} bytes`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
