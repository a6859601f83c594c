// startServer() as programs use it: what it refuses, in words that name the option, and how it ends.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { startServer } from '../src/server.ts'

/** Options as a program without types might give them, and the error. */
const REFUSED: readonly (readonly [unknown, string])[] = [
  [{ blobprot: 10_000 }, "unknown option 'blobprot'; did you mean 'blobPort'?"],
  [{ 'blob-port': 1 }, "unknown option 'blob-port'; did you mean 'blobPort'?"],
  [{ toString: 1 }, "unknown option 'toString'"],
  [{ inMemory: true }, "unknown option 'inMemory'"],
  [{ blobPort: '10000' }, "'blobPort' must be a port from 0 to 65535 (0 picks a free port)"],
  [{ smbPort: 65_536 }, "'smbPort' must be a port from 0 to 65535 (0 picks a free port)"],
  [{ queuePort: 1.5 }, "'queuePort' must be a port from 0 to 65535 (0 picks a free port)"],
  [{ clock: 5 }, "'clock' must be a function that returns milliseconds, or 'held'"],
  [{ seed: [] }, "'seed' must be the path of a folder, or an object"],
  [{ journal: { countmax: 1 } }, "unknown option 'journal.countmax'; did you mean 'journal.countMax'?"],
  [{ journal: { countMax: 0 } }, "'journal.countMax' must be a whole number greater than 0"],
  [{ journal: { bytesMax: 1.5 } }, "'journal.bytesMax' must be a whole number greater than 0"],
  [{ journal: { clientBy: [] } }, "'journal.clientBy' must be a list of name, requestId, userAgent, connection"],
  [{ journal: { clientBy: ['ip'] } }, "'journal.clientBy' must be a list of name, requestId, userAgent, connection"],
  [{ controlToken: 'secret-of-this-test' }, "'controlToken' can only be used with 'adminPort'"],
  [{ adminPort: 0, host: '0.0.0.0' }, "'adminPort' needs 'controlToken', since other machines can reach 0.0.0.0"],
  [{ journal: true }, "'journal' must be false or an object"],
  [{ location: '' }, "'location' must be a text that is not empty"],
  [{ location: null }, "'location' must be a text that is not empty"],
  [{ memoryLimitBytes: -1 }, "'memoryLimitBytes' must be a number of bytes"],
  [{ nameReuseSeconds: '30' }, "'nameReuseSeconds' must be a number of seconds from 0 to 86400"],
  [{ accounts: ['me'] }, `'accounts' must be an object of names and keys, such as { me: "key in base64" }`],
  [{ accounts: { me: '?' } }, 'accounts: key 1 of account "me" is not base64'],
  [{ smbUsers: [{ user: 'ann' }] }, "'smbUsers' must be a list of { user, account, password }"],
  [{ allowedHosts: 'a.example' }, "'allowedHosts' must be a list of host names without a port, or *"],
  [{ allowedHosts: ['a.example:80'] }, "'allowedHosts' must be a list of host names without a port, or *"],
  [{ encryptionScopes: ['a'] }, "'encryptionScopes' must be a list of names with 3 to 63 letters, digits and dashes"],
  [{ bytes: 'postgres' }, "'bytes' can only be used with 'store'"],
  [{ allowAsyncCommit: true }, "'allowAsyncCommit' can only be used with 'store'"],
  [{ store: 'mysql://db' }, "'store' must be the URL of a PostgreSQL database: postgres://user@host/database"],
  [{ store: 'postgres://db/x', location: 'folder' }, "'store' keeps all data in the database, so it cannot be used with 'location'"],
  [{ store: 'postgres://db/x', host: '0.0.0.0' }, "'host' must be an address at which other nodes reach this one, so it cannot be 0.0.0.0 or ::"],
  [[], 'the options must be an object'],
] // prettier-ignore

for (const [options, message] of REFUSED) {
  test(`refused: ${JSON.stringify(options)}`, async () => {
    await assert.rejects(startServer(options as object), {
      name: 'StartError',
      message: `startServer: ${message}`,
    })
  })
}

test('a copy source is refused with its reason', async () => {
  await assert.rejects(
    startServer({ allowCopyFrom: ['ftp://x'] }),
    /^StartError: startServer: 'allowCopyFrom' ftp:\/\/x is not a valid pattern: /,
  )
})

test('a port that is in use is reported with its option, also in the stack', async (t) => {
  const other = createServer()
  t.after(() => other.close())
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => {
      const address = other.address()
      assert(address !== null && typeof address === 'object')
      resolve(address.port)
    })
  })
  await assert.rejects(startServer({ queuePort: port }), (error) => {
    assert(error instanceof Error)
    assert.equal(
      error.message,
      `startServer: the queue service cannot listen on 127.0.0.1:${port}: the port is already in use; choose another with 'queuePort'`,
    )
    assert(error.stack?.startsWith(`StartError: ${error.message}\n`))
    return true
  })
})

test('an option that is undefined counts as left out', async () => {
  const options: Record<string, unknown> = { location: undefined, blobPort: undefined }
  await using server = await startServer(options)
  assert(server.blobPort > 0)
})

test('a server closes at the end of its block, and closing it again has no effect', async () => {
  let endpoint = ''
  let again: (() => Promise<void>) | undefined
  {
    await using server = await startServer()
    endpoint = server.blobEndpoint
    again = () => server.close()
    assert.equal((await fetch(endpoint)).status, 400)
  }
  await assert.rejects(fetch(endpoint))
  await Promise.all([again(), again()])
})
