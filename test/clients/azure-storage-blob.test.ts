// The Blob service through the SDK for Python: the tests themselves are in azure-storage-blob.py, since
// only Python can ask them. One process runs them all; each is a test of its own here.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestServer } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { CLIENT_LIMIT_MS, clientOf, missingReason } from './program.ts'

/** Debian's own: a python3 that comes first on the path doesn't see Debian's modules. */
const PYTHON = '/usr/bin/python3'
const SCRIPT = fileURLToPath(new URL('azure-storage-blob.py', import.meta.url))

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

const skip =
  missingReason('python3-azure-storage', [PYTHON, '-c', 'import azure.storage.blob']) ?? false

test('azure.storage.blob', { skip, timeout: CLIENT_LIMIT_MS }, async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  const said = await clientOf([PYTHON, SCRIPT], {}).ok(server.connectionString)
  const results = said.trimEnd().split('\n').map(resultOf)
  assert(results.length > 0)
  for (const { name, failure } of results) {
    await t.test(name, () => assert.equal(failure, null, failure ?? ''))
  }
})
