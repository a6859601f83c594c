// The services through the SDKs for Python: the tests themselves are in the .py files, since only Python can
// ask them. One process runs all of a file; each is a test of its own here.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestServer } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason } from './program.ts'

/** Debian's own: a python3 that comes first on the path doesn't see Debian's modules. */
const PYTHON = '/usr/bin/python3'

/** Module, Debian's package of it, and the tests. */
const SUITES = [
  ['azure.storage.blob', 'python3-azure-storage', 'azure-storage-blob.py'],
  ['azure.storage.queue', 'python3-azure-storage', 'azure-storage-queue.py'],
  ['azure.data.tables', 'python3-azure', 'azure-data-tables.py'],
] as const

type Result = { readonly name: string; readonly failure: string | null }

function isResult(value: unknown): value is Result {
  return typeof value === 'object' && value !== null && 'name' in value && 'failure' in value
}

function resultOf(line: string): Result {
  const value: unknown = JSON.parse(line)
  assert(isResult(value), line)
  return value
}

after(cleanUp)

for (const [module, debianPackage, file] of SUITES) {
  const skip = missingReason(debianPackage, [PYTHON, '-c', `import ${module}`]) ?? false
  test(module, { skip, timeout: CLIENT_LIMIT_MS }, async (t) => {
    const server = await startTestServer()
    t.after(() => server.close())
    const script = fileURLToPath(new URL(file, import.meta.url))
    const said = await clientOf([PYTHON, script], {}).ok(server.connectionString)
    const results = said.trimEnd().split('\n').map(resultOf)
    assert(results.length > 0)
    for (const { name, failure } of results) {
      await t.test(name, () => assert.equal(failure, null, failure ?? ''))
    }
  })
}
