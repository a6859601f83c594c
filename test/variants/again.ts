// Runs test files a second time, in this process, which has set something up differently.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

export async function runAgain(pattern: string): Promise<void> {
  const files = globSync(pattern, { cwd: ROOT }).sort()
  if (files.length === 0) throw new Error(`no test file matches ${pattern}`)
  const loaded = loadAll(files)
  // Runs first: otherwise the runner could finish, and close the servers, between two files.
  test('all test files load', () => loaded)
  await loaded
}

async function loadAll(files: readonly string[]): Promise<void> {
  for (const file of files) await import(join(ROOT, file))
}
