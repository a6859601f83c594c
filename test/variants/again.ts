// Runs test files again in this process, after it was set up in another way.
import { globSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

export async function runAgain(pattern: string): Promise<void> {
  const files = globSync(pattern, { cwd: ROOT }).sort()
  if (files.length === 0) throw new Error(`no test file matches ${pattern}`)
  for (const file of files) await import(join(ROOT, file))
}
