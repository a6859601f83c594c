// Streaming of bodies: a download keeps its bytes whatever happens to the blob in the meantime, and a failed upload
// leaves nothing behind, neither visible nor on disk.
import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { patternBytes } from '../../src/extent/harness.ts'
import { md5Of, rawRequest, wireRequest, type TestServer } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { BLOCK_BLOB, blobFixtureOn, startBlobFixture } from './fixture.ts'

const MIB = 1024 * 1024

/** The total size of all files in the folder; 0 if it does not exist. */
async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  let total = 0
  for (const entry of entries) {
    if (entry.isFile()) total += (await stat(join(entry.parentPath, entry.name))).size
  }
  return total
}

function extentBytes(server: TestServer): Promise<number> {
  assert.ok(server.folder !== undefined)
  return folderBytes(join(server.folder, 'extents'))
}

async function sweptExtentBytes(server: TestServer): Promise<number> {
  await server.sweep()
  await server.sweep()
  return extentBytes(server)
}

/** Requests a blob without reading its body: the socket buffers fill up and the server waits. */
function openDownload(server: RunningTestServer, path: string): Promise<IncomingMessage> {
  const wire = wireRequest({ method: 'GET', path })
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: server.blobPort, agent: false, ...wire }
    const req = httpRequest(options, (res) => {
      res.pause()
      resolve(res)
    })
    req.on('error', reject)
    req.end()
  })
}

async function readAll(res: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of res) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

for (const onDisk of [false, true]) {
  describe(onDisk ? 'downloads from disk' : 'downloads from memory', async () => {
    const { server } = await blobFixtureOn(await runTestServer({ silent: true, onDisk }))

    const sweep = () => server.store.sweep({ graceMs: 0 })
    /** The size of the extents after two sweeps, one that retires and one that removes. */
    const sweptBytes = async (): Promise<number> => {
      await sweep()
      await sweep()
      return server.store.extents.sizeBytes()
    }

    const put = async (path: string, body: Uint8Array): Promise<void> => {
      const { status } = await rawRequest(server, {
        method: 'PUT',
        path,
        headers: BLOCK_BLOB,
        body,
      })
      assert.equal(status, 201)
    }

    const EVENTS: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
      overwritten: (path) => put(path, patternBytes(99, 1 * MIB)),
      deleted: (path) => rawRequest(server, { method: 'DELETE', path }),
      'deleted with its container': async () => {
        await rawRequest(server, { method: 'DELETE', path: '/box?restype=container' })
        await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
      },
    }

    for (const [event, happen] of Object.entries(EVENTS)) {
      test(`a blob that is ${event} and swept during a download arrives complete`, async () => {
        const path = `/box/long-${event.replaceAll(' ', '-')}`
        const body = patternBytes(7, event === 'overwritten' ? 32 * MIB : 16 * MIB)
        await put(path, body)
        const res = await openDownload(server, path)
        const { etag } = res.headers
        await happen(path)
        await sweep()
        await put('/box/other', patternBytes(5, 2 * MIB))
        await sweep()
        const got = await readAll(res)
        assert.equal(got.length, body.length)
        assert.ok(got.equals(body), 'every byte of the old state')
        const md5 = md5Of(body)
        assert.equal(res.headers['content-md5'], md5)
        const now = await rawRequest(server, { method: 'HEAD', path })
        assert.notEqual(now.headers.etag, etag)
      })
    }

    // In memory a reader holds the bytes themselves, which no sweep removes.
    if (!onDisk) return

    test('a download keeps its bytes until it is aborted', { timeout: 60_000 }, async (t) => {
      const beforeBytes = await sweptBytes()
      const body = patternBytes(3, 16 * MIB)
      await put('/box/given-up', body)
      const res = await openDownload(server, '/box/given-up')
      t.after(() => res.destroy())
      await rawRequest(server, { method: 'DELETE', path: '/box/given-up' })
      assert.ok((await sweptBytes()) >= beforeBytes + body.length)
      res.destroy()
      // The server notices it when its socket closes, some turns of the event loop later.
      await until(async () => (await sweptBytes()) <= beforeBytes)
    })
  })
}

/** Polls until the condition holds; the test's timeout ends a condition that never does. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}

describe('a failed upload leaves nothing behind:', { timeout: 120_000 }, async () => {
  const { server } = await startBlobFixture({ onDisk: true })
  const OLD = patternBytes(1, 64 * 1024)

  before(() => send({ path: '/box/old' }, OLD))

  function send(
    { path, headers = {} }: { readonly path: string; readonly headers?: Record<string, string> },
    body: Uint8Array,
  ) {
    return rawRequest(server, {
      method: 'PUT',
      path,
      headers: { ...BLOCK_BLOB, ...headers },
      body,
    })
  }

  /** Sends the header and the first part of a body, then disconnects. */
  async function sendHalf(path: string, body: Uint8Array): Promise<void> {
    const wire = wireRequest({ method: 'PUT', path, headers: BLOCK_BLOB, body })
    const lines = Object.entries(wire.headers).map(([name, value]) => `${name}: ${String(value)}`)
    const socket = connect({ host: '127.0.0.1', port: server.blobPort })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.on('error', () => undefined)
    socket.write(`PUT ${wire.path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('\r\n')}\r\n\r\n`)
    await new Promise((resolve) => socket.write(body.subarray(0, body.length / 2), resolve))
    socket.destroy()
    await closed
  }

  async function assertUntouched(beforeBytes: number): Promise<void> {
    const old = await rawRequest(server, { method: 'GET', path: '/box/old' })
    assert.ok(old.body.equals(OLD))
    assert.equal((await rawRequest(server, { method: 'HEAD', path: '/box/new' })).status, 404)
    await until(async () => (await sweptExtentBytes(server)) <= beforeBytes)
  }

  const body = patternBytes(2, 4 * MIB)

  for (const path of ['/box/old', '/box/new']) {
    test(`the client disconnects in the middle of ${path}`, async () => {
      const beforeBytes = await sweptExtentBytes(server)
      for (let i = 0; i < 3; i += 1) await sendHalf(path, body)
      await assertUntouched(beforeBytes)
    })

    const WRONG: readonly (readonly [string, string, string])[] = [
      ['Content-MD5', 'AAAAAAAAAAAAAAAAAAAAAA==', 'Md5Mismatch'],
      ['x-ms-blob-content-md5', 'AAAAAAAAAAAAAAAAAAAAAA==', 'Md5Mismatch'],
      ['x-ms-content-crc64', 'AAAAAAAAAAA=', 'Crc64Mismatch'],
    ]
    for (const [name, value, code] of WRONG) {
      test(`a wrong ${name} for ${path}`, async () => {
        const beforeBytes = await sweptExtentBytes(server)
        for (const part of [body, body.subarray(0, 100)]) {
          const answer = await send({ path, headers: { [name]: value } }, part)
          assert.deepEqual([answer.status, answer.headers['x-ms-error-code']], [400, code])
        }
        await assertUntouched(beforeBytes)
      })
    }
  }

  test('a condition that is met at the start but not at the end', async () => {
    const beforeBytes = await sweptExtentBytes(server)
    const path = '/box/raced'
    const headers = { ...BLOCK_BLOB, 'If-None-Match': '*' }
    const wire = wireRequest({ method: 'PUT', path, headers, body })
    const options = { host: '127.0.0.1', port: server.blobPort, agent: false, method: 'PUT' }
    const slow = httpRequest({ ...options, ...wire })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      slow.on('response', resolve)
      slow.on('error', reject)
    })
    await new Promise((resolve) => slow.write(body.subarray(0, 3 * MIB), resolve))
    // A short body is stored while the long one is still being sent.
    assert.equal((await send({ path, headers: { 'If-None-Match': '*' } }, OLD)).status, 201)
    slow.end(body.subarray(3 * MIB))
    const answer = await answered
    assert.equal(answer.statusCode, 409)
    assert.equal(answer.headers['x-ms-error-code'], 'BlobAlreadyExists')
    answer.resume()
    assert.ok((await rawRequest(server, { method: 'GET', path })).body.equals(OLD))
    await rawRequest(server, { method: 'DELETE', path })
    await assertUntouched(beforeBytes)
  })

  test('an overwrite and a delete free the space', async () => {
    const beforeBytes = await sweptExtentBytes(server)
    const path = '/box/space'
    for (let i = 0; i < 4; i += 1) await send({ path }, body)
    assert.ok((await extentBytes(server)) >= beforeBytes + body.length)
    await rawRequest(server, { method: 'DELETE', path })
    await assertUntouched(beforeBytes)
  })
})
