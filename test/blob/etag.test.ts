// Which operations change ETag and Last-Modified, and that no two writes have the same ETag even if the clock stands
// still.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Headers } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

let heldMs = Date.now()
const fixture = await startBlobFixture({ clock: () => heldMs })

async function send(method: string, path: string, headers: Headers = {}, body?: string) {
  const response = await fixture.send(method, path, headers, body)
  assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.text}`)
  const { etag = '', 'last-modified': modified = '' } = response.headers
  return { ...response, etag, modifiedMs: Date.parse(modified) }
}

type Sent = readonly [method: string, query: string, Readonly<Record<string, string>>?]

const BLOB_WRITES: Readonly<Record<string, Sent>> = {
  'Put Blob': ['PUT', '', BLOCK_BLOB],
  'Set Blob Metadata': ['PUT', '?comp=metadata', { 'x-ms-meta-a': '1' }],
  'Set Blob Metadata to what it was': ['PUT', '?comp=metadata', { 'x-ms-meta-a': '1' }],
  'Set Blob Properties': ['PUT', '?comp=properties', { 'x-ms-blob-content-type': 'text/css' }],
}
const BLOB_READS: Readonly<Record<string, Sent>> = {
  'Get Blob': ['GET', ''],
  'Get Blob Properties': ['HEAD', ''],
  'Get Blob Metadata': ['GET', '?comp=metadata'],
}

describe('for blobs', () => {
  for (const [name, [method, query, headers]] of Object.entries(BLOB_WRITES)) {
    test(`${name} changes ETag and Last-Modified`, async () => {
      const before = await send('PUT', '/box/b', BLOCK_BLOB, 'x')
      heldMs += 2_000
      const written = await send(method, `/box/b${query}`, headers)
      assert.notEqual(written.etag, before.etag)
      assert.equal(written.modifiedMs, before.modifiedMs + 2_000)
      const now = await send('HEAD', '/box/b')
      assert.deepEqual([now.etag, now.modifiedMs], [written.etag, written.modifiedMs])
    })
  }

  for (const [name, [method, query]] of Object.entries(BLOB_READS)) {
    test(`${name} changes neither`, async () => {
      const before = await send('PUT', '/box/b', BLOCK_BLOB, 'x')
      heldMs += 2_000
      for (let i = 0; i < 2; i += 1) {
        const read = await send(method, `/box/b${query}`)
        assert.deepEqual([read.etag, read.modifiedMs], [before.etag, before.modifiedMs])
      }
    })
  }

  test('an ETag is a quoted strong tag', async () => {
    const { etag } = await send('PUT', '/box/b', BLOCK_BLOB, 'x')
    assert.match(etag, /^"0x[0-9A-F]+"$/)
  })

  test('the creation time is kept by an overwrite and new after a delete', async () => {
    const creation = async () => (await send('HEAD', '/box/c')).headers['x-ms-creation-time']
    await send('PUT', '/box/c', BLOCK_BLOB, 'x')
    const first = await creation()
    heldMs += 2_000
    await send('PUT', '/box/c', BLOCK_BLOB, 'y')
    assert.equal(await creation(), first)
    await send('DELETE', '/box/c')
    await send('PUT', '/box/c', BLOCK_BLOB, 'z')
    assert.notEqual(await creation(), first)
  })

  test('a blob that was deleted and written again has another ETag', async () => {
    const first = await send('PUT', '/box/again', BLOCK_BLOB, 'x')
    await send('DELETE', '/box/again')
    const second = await send('PUT', '/box/again', BLOCK_BLOB, 'x')
    assert.notEqual(second.etag, first.etag)
  })

  test('two hundred writes at the same time have two hundred ETags', async () => {
    const etags = new Set<string>()
    for (let i = 0; i < 50; i += 1) {
      const written = await Promise.all(
        Object.values(BLOB_WRITES).map(([method, query, headers]) =>
          send(method, `/box/b${query}`, headers),
        ),
      )
      for (const { etag } of written) etags.add(etag)
    }
    assert.equal(etags.size, 200)
  })

  test('Last-Modified does not go back if the clock does', async () => {
    const before = await send('PUT', '/box/back', BLOCK_BLOB, 'x')
    heldMs -= 10_000
    const written = await send('PUT', '/box/back', BLOCK_BLOB, 'y')
    assert.equal(written.modifiedMs, before.modifiedMs)
    assert.notEqual(written.etag, before.etag)
    const changed = await send('PUT', '/box/back?comp=metadata')
    assert.equal(changed.modifiedMs, before.modifiedMs)
    heldMs += 10_000
  })
})

describe('for containers', () => {
  const writes = { 'Set Container Metadata': '&comp=metadata', 'Set Container ACL': '&comp=acl' }
  for (const [name, comp] of Object.entries(writes)) {
    test(`${name} changes ETag and Last-Modified`, async () => {
      const before = await send('HEAD', '/box?restype=container')
      heldMs += 2_000
      const written = await send('PUT', `/box?restype=container${comp}`)
      assert.notEqual(written.etag, before.etag)
      assert.ok(written.modifiedMs >= before.modifiedMs + 2_000)
      assert.equal((await send('HEAD', '/box?restype=container')).etag, written.etag)
    })
  }

  test('operations on its blobs change neither', async () => {
    const before = await send('HEAD', '/box?restype=container')
    heldMs += 2_000
    for (const [method, query, headers] of Object.values(BLOB_WRITES)) {
      await send(method, `/box/b${query}`, headers)
    }
    await send('DELETE', '/box/b')
    await send('GET', '/box?restype=container&comp=list')
    const now = await send('HEAD', '/box?restype=container')
    assert.deepEqual([now.etag, now.modifiedMs], [before.etag, before.modifiedMs])
  })
})
