// The examples as readers run them: plain `node` or `python3`, with the server given by the environment. Those that are
// projects of their own are run by package.test.ts.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startServer } from '../src/server.ts'
import { startTestServer } from './harness.ts'
import { cleanUp, run } from './server-process.ts'

const LIMIT_MS = 180_000

after(cleanUp)

// example, expected end of its output
const EXAMPLES = [
  ['table-lock.mjs', 'a: 80\nb: 20\n'],
  ['file-share.mjs', 'current:  FINAL draft\nsnapshot: first draft\nrestored: first draft\n'],
] as const

for (const [name, output] of EXAMPLES) {
  test(`examples/${name}`, { timeout: LIMIT_MS }, async (t) => {
    const server = await startTestServer({ clock: Date.now })
    t.after(() => server.close())
    const { code, stdout, stderr } = await run({
      program: [process.execPath],
      args: [fileURLToPath(new URL(`../examples/${name}`, import.meta.url))],
      env: { AZURE_STORAGE_CONNECTION_STRING: server.connectionString },
    })
    assert.equal(code, 0, stderr)
    assert.equal(stdout, output)
  })
}

const folders = (process.env.PATH ?? '').split(delimiter)
const hasPython = folders.some((folder) => existsSync(join(folder, 'python3')))
const skip = !hasPython && 'python3 is not installed'

test('examples/python', { skip, timeout: LIMIT_MS }, async () => {
  await using server = await startServer({ adminPort: 0 })
  const { code, stderr } = await run({
    program: ['python3'],
    args: ['-B', '-m', 'unittest'],
    cwd: fileURLToPath(new URL('../examples/python', import.meta.url)),
    env: {
      LAZULI_ADMIN: server.adminUrl ?? '',
      LAZULI_BLOBS: `http://127.0.0.1:${server.blobPort}`,
    },
  })
  assert.equal(code, 0, stderr)
  assert.match(stderr, /^Ran 4 tests .*\n\nOK\n$/m)
})
