// The services with the Python SDKs. The tests themselves are in the .py files; one process runs all tests of a file,
// and each is reported as a test here.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ACCOUNT, startTestServer } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { CLIENT_LIMIT_MS, missingReason } from './program.ts'
import { PYTHON, pythonResults } from './python-suite.ts'

/** The module, its Debian package, the file with the tests, and the account. */
const SUITES = [
  ['azure.storage.blob', 'python3-azure-storage', 'azure-storage-blob.py', ACCOUNT],
  ['azure.storage.queue', 'python3-azure-storage', 'azure-storage-queue.py', ACCOUNT],
  ['azure.storage.fileshare', 'python3-azure-storage', 'azure-storage-file-share.py', ACCOUNT],
  [
    'azure.storage.filedatalake',
    'python3-azure-storage',
    'azure-storage-file-datalake.py',
    'devlake1',
  ],
  ['azure.data.tables', 'python3-azure', 'azure-data-tables.py', ACCOUNT],
] as const

after(cleanUp)

for (const [module, debianPackage, file, account] of SUITES) {
  const skip = missingReason(debianPackage, [PYTHON, '-c', `import ${module}`]) ?? false
  test(module, { skip, timeout: CLIENT_LIMIT_MS }, async (t) => {
    const server = await startTestServer()
    t.after(() => server.close())
    const script = fileURLToPath(new URL(file, import.meta.url))
    const connection = server.connectionStringOf(account)
    for (const { name, failure } of await pythonResults(script, connection)) {
      await t.test(name, () => assert.equal(failure, null, failure ?? ''))
    }
  })
}
