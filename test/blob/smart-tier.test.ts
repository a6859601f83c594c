// The smart tier over the wire: the requests that can set it, where it moves a blob by the server's clock, what moves a
// blob back to hot, and changes from and to other tiers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertRefused, DAY_MS, xmlText, type Headers, type Send } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const fixture = await startBlobFixture({ onDisk: true })
const { server, service, container } = fixture

const VERSION = { 'x-ms-version': '2026-10-06' }
const SMART = { 'x-ms-access-tier': 'Smart' }
/** Large enough to be moved between tiers. */
const BODY = 'x'.repeat(128 * 1_024)

const send: Send = (method, path, headers = {}, body) =>
  fixture.send(method, path, { ...VERSION, ...headers }, body)

const put = (name: string, headers: Headers = SMART, body = BODY) =>
  send('PUT', `/box/${name}`, { ...BLOCK_BLOB, ...headers }, body)
const setTier = (name: string, headers: Headers = SMART) =>
  send('PUT', `/box/${name}?comp=tier`, headers)

/** The tier and the underlying tier, as the properties show them: `Smart Hot`. */
async function tierOf(path: string): Promise<string> {
  const { headers } = await send('HEAD', path)
  const words = [headers['x-ms-access-tier'], headers['x-ms-smart-access-tier']]
  return words.filter((word) => word !== undefined).join(' ')
}

const httpNow = () => new Date(server.now()).toUTCString()

describe('the smart tier can be set', () => {
  const BLOCKS = '<BlockList></BlockList>'
  const source = () => ({ 'x-ms-copy-source': `${server.blobEndpoint}/box/source` })
  const WAYS: readonly (readonly [string, (name: string) => ReturnType<typeof send>])[] = [
    ['Put Blob', (name) => put(name)],
    ['Put Block List', (name) => send('PUT', `/box/${name}?comp=blocklist`, SMART, BLOCKS)],
    ['Copy Blob', (name) => send('PUT', `/box/${name}`, { ...SMART, ...source() })],
    [
      'Copy Blob From URL',
      (name) =>
        send('PUT', `/box/${name}`, { ...SMART, ...source(), 'x-ms-requires-sync': 'true' }),
    ],
    [
      'Put Blob From URL',
      (name) => send('PUT', `/box/${name}`, { ...BLOCK_BLOB, ...SMART, ...source() }),
    ],
    [
      'Set Blob Tier',
      async (name) => {
        await put(name, {})
        return setTier(name)
      },
    ],
  ]
  for (const [operation, send] of WAYS) {
    test(`by ${operation}`, async () => {
      await put('source', {}, 'small')
      const name = operation.replaceAll(' ', '-')
      const { status, text } = await send(name)
      assert.ok(status < 300, text)
      assert.equal(await tierOf(`/box/${name}`), 'Smart Hot')
    })
  }

  test('by each part of a batch', async () => {
    const blobs = ['batch1', 'batch2']
    for (const name of blobs) await put(name, {})
    const clients = blobs.map((name) => container.getBlobClient(name))
    const { subResponses } = await service.getBlobBatchClient().setBlobsAccessTier(clients, 'Smart')
    assert.deepEqual(subResponses.map(({ status }) => status), [200, 200]) // prettier-ignore
    for (const name of blobs) assert.equal(await tierOf(`/box/${name}`), 'Smart Hot')
  })

  test('not before 2026-06-06', async () => {
    const old = { 'x-ms-version': '2026-04-06' }
    await put('plain', {})
    await assertRefused(put('new', { ...SMART, ...old }), 400, 'InvalidHeaderValue')
    await assertRefused(setTier('plain', { ...SMART, ...old }), 400, 'InvalidHeaderValue')
    assert.equal((await setTier('plain', { ...SMART, 'x-ms-version': '2026-06-06' })).status, 200)
  })

  test('not for page blobs or append blobs', async () => {
    const page = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' }
    await assertRefused(send('PUT', '/box/page', { ...page, ...SMART }), 400, 'InvalidBlobTier')
    await send('PUT', '/box/page', page)
    await assertRefused(setTier('page'), 400, 'InvalidBlobTier')
    const append = { 'x-ms-blob-type': 'AppendBlob' }
    await assertRefused(send('PUT', '/box/log', { ...append, ...SMART }), 409, 'InvalidBlobType')
    await send('PUT', '/box/log', append)
    await assertRefused(setTier('log'), 409, 'InvalidBlobType')
  })
})

describe('a blob in the smart tier', () => {
  test('is cool after 30 days without access, and cold after 90', async () => {
    await put('idle')
    const STEPS = [
      [0, 'Hot'],
      [30 * DAY_MS - 1, 'Hot'],
      [1, 'Cool'],
      [60 * DAY_MS - 1, 'Cool'],
      [1, 'Cold'],
      [365 * DAY_MS, 'Cold'],
    ] as const
    const changed = httpNow()
    for (const [afterMs, capacity] of STEPS) {
      server.advance(afterMs)
      assert.equal(await tierOf('/box/idle'), `Smart ${capacity}`)
    }
    // The time of the change is still that of setting the tier.
    const { headers } = await send('HEAD', '/box/idle')
    assert.equal(headers['x-ms-access-tier-change-time'], changed)
    const list = await send('GET', '/box?restype=container&comp=list&prefix=idle')
    assert.equal(xmlText(list.text, 'AccessTier'), 'Smart')
    assert.equal(xmlText(list.text, 'SmartAccessTier'), 'Cold')
  })

  test('returns to hot when Get Blob reads it, which restarts the count', async () => {
    await put('read')
    server.advance(40 * DAY_MS)
    assert.equal(await tierOf('/box/read'), 'Smart Cool')
    const { status, headers } = await send('GET', '/box/read', { range: 'bytes=0-0' })
    assert.equal(status, 206)
    // The tier from which it was read.
    assert.equal(headers['x-ms-smart-access-tier'], 'Cool')
    assert.equal(headers['x-ms-last-access-time'], undefined)
    assert.equal(await tierOf('/box/read'), 'Smart Hot')
    server.advance(30 * DAY_MS - 1)
    assert.equal(await tierOf('/box/read'), 'Smart Hot')
    server.advance(1)
    assert.equal(await tierOf('/box/read'), 'Smart Cool')
  })

  test('is not moved by reading its properties, metadata or tags', async () => {
    await put('looked')
    server.advance(100 * DAY_MS)
    await send('HEAD', '/box/looked')
    await send('GET', '/box/looked?comp=metadata')
    await send('GET', '/box/looked?comp=tags')
    await setTier('looked')
    assert.equal(await tierOf('/box/looked'), 'Smart Cold')
  })

  test('returns to hot when Put Blob replaces it', async () => {
    await put('again')
    server.advance(100 * DAY_MS)
    await put('again', {})
    assert.equal(await tierOf('/box/again'), 'Smart Hot')
    server.advance(30 * DAY_MS)
    assert.equal(await tierOf('/box/again'), 'Smart Cool')
  })

  test('below 128 KiB stays hot', async () => {
    await put('small', SMART, BODY.slice(1))
    server.advance(1_000 * DAY_MS)
    assert.equal(await tierOf('/box/small'), 'Smart Hot')
  })

  test('can be moved to any other tier', async () => {
    await put('out')
    server.advance(100 * DAY_MS)
    for (const tier of ['Cool', 'Smart', 'Hot', 'Cold']) {
      assert.equal((await setTier('out', { 'x-ms-access-tier': tier })).status, 200)
      const expected = tier === 'Smart' ? 'Smart Hot' : tier
      assert.equal(await tierOf('/box/out'), expected)
    }
  })
})

describe('a blob is rehydrated to the smart tier', () => {
  const HOUR_MS = 60 * 60 * 1_000

  test('by Set Blob Tier', async () => {
    await put('archived', { 'x-ms-access-tier': 'Archive' })
    assert.equal((await setTier('archived')).status, 202)
    const { headers } = await send('HEAD', '/box/archived')
    assert.equal(headers['x-ms-archive-status'], 'rehydrate-pending-to-smart')
    const list = await send('GET', '/box?restype=container&comp=list&prefix=archived')
    assert.equal(xmlText(list.text, 'ArchiveStatus'), 'rehydrate-pending-to-smart')
    server.advance(15 * HOUR_MS)
    assert.equal(await tierOf('/box/archived'), 'Smart Hot')
    server.advance(30 * DAY_MS)
    assert.equal(await tierOf('/box/archived'), 'Smart Cool')
    assert.equal((await send('GET', '/box/archived')).status, 200)
    assert.equal(await tierOf('/box/archived'), 'Smart Hot')
  })

  test('by a copy', async () => {
    await put('frozen', { 'x-ms-access-tier': 'Archive' })
    const source = { 'x-ms-copy-source': `${server.blobEndpoint}/box/frozen` }
    const high = { 'x-ms-rehydrate-priority': 'High' }
    assert.equal((await send('PUT', '/box/thawed', { ...SMART, ...source, ...high })).status, 202)
    const { headers } = await send('HEAD', '/box/thawed')
    assert.equal(headers['x-ms-archive-status'], 'rehydrate-pending-to-smart')
    server.advance(HOUR_MS)
    assert.equal(await tierOf('/box/thawed'), 'Smart Hot')
  })
})
