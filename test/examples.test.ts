// The examples as readers run them: plain `node`, with the server given by the environment.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestServer } from './harness.ts'
import { cleanUp, run } from './server-process.ts'

const LIMIT_MS = 60_000

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
