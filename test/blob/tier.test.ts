// Set Blob Tier: the tiers of each blob type, moving to the archive and rehydration, and the operations on an archived
// blob. The clock stands still until a test advances it.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { type Headers, assertRefused } from '../harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()

const HOUR_MS = 60 * 60 * 1_000
const NO_LEASE = '00000000-0000-4000-8000-000000000000'

const put = (name: string, headers: Headers = {}) =>
  send('PUT', `/box/${name}`, { ...BLOCK_BLOB, ...headers }, 'hello')
const setTier = (name: string, tier: string, headers: Headers = {}) =>
  send('PUT', `/box/${name}?comp=tier`, { 'x-ms-access-tier': tier, ...headers })

/** The properties of the tier. */
async function tierState(path: string) {
  const { headers } = await send('HEAD', path)
  return {
    tier: headers['x-ms-access-tier'],
    inferred: headers['x-ms-access-tier-inferred'],
    changed: headers['x-ms-access-tier-change-time'],
    status: headers['x-ms-archive-status'],
    priority: headers['x-ms-rehydrate-priority'],
  }
}

const NOT_REHYDRATED = { inferred: undefined, status: undefined, priority: undefined }
const httpNow = () => new Date(server.now()).toUTCString()

describe('the tier of a block blob', () => {
  test("is the account's until it is set, and then has the time of the change", async () => {
    await put('b')
    const before = await tierState('/box/b')
    assert.deepEqual([before.tier, before.inferred, before.changed], ['Hot', 'true', undefined])
    for (const tier of ['Cool', 'Cold', 'Hot', 'Archive']) {
      server.advance(60_000)
      assert.equal((await setTier('b', tier)).status, 200)
      assert.deepEqual(await tierState('/box/b'), { tier, changed: httpNow(), ...NOT_REHYDRATED })
    }
  })

  test('changes neither the ETag nor Last-Modified', async () => {
    await put('same')
    const before = await send('HEAD', '/box/same')
    server.advance(5_000)
    await setTier('same', 'Cool')
    const now = await send('HEAD', '/box/same')
    assert.equal(now.headers.etag, before.headers.etag)
    assert.equal(now.headers['last-modified'], before.headers['last-modified'])
  })

  test('keeps its time if it is set to the same value', async () => {
    await put('twice')
    await setTier('twice', 'Cool')
    const before = await tierState('/box/twice')
    server.advance(60_000)
    assert.equal((await setTier('twice', 'cool')).status, 200)
    assert.deepEqual(await tierState('/box/twice'), before)
  })

  test('can be set by Put Blob and is kept by an overwrite', async () => {
    await put('given', { 'x-ms-access-tier': 'Cool' })
    await put('given')
    assert.equal((await tierState('/box/given')).tier, 'Cool')
    await put('given', { 'x-ms-access-tier': 'Hot' })
    assert.deepEqual(await tierState('/box/given'), {
      tier: 'Hot',
      changed: httpNow(),
      ...NOT_REHYDRATED,
    })
    const append = { 'x-ms-blob-type': 'AppendBlob' }
    assert.equal((await send('PUT', '/box/given', append)).status, 201)
    assert.equal((await tierState('/box/given')).tier, undefined)
  })

  test('cannot be a disk tier, in Put Blob or Set Blob Tier', async () => {
    await assertRefused(put('disk', { 'x-ms-access-tier': 'P10' }), 400, 'InvalidBlobTier')
    await assertRefused(put('disk', { 'x-ms-access-tier': 'Warm' }), 400, 'InvalidHeaderValue')
    await assertRefused(send('HEAD', '/box/disk'), 404, 'BlobNotFound')
    await put('disk')
    await assertRefused(setTier('disk', 'P10'), 400, 'InvalidBlobTier')
    await assertRefused(setTier('disk', 'Warm'), 400, 'InvalidHeaderValue')
  })
})

describe('Set Blob Tier', () => {
  const REFUSED: readonly (readonly [string, Headers, number, string])[] = [
    ['no tier', { 'x-ms-access-tier': '' }, 400, 'MissingRequiredHeader'],
    ['an unknown priority', { 'x-ms-rehydrate-priority': 'Soon' }, 400, 'InvalidHeaderValue'],
    ['If-Match', { 'If-Match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['If-None-Match', { 'If-None-Match': '"0x1"' }, 400, 'ConditionHeadersNotSupported'],
    ['other tags', { 'x-ms-if-tags': "k = 'w'" }, 412, 'ConditionNotMet'],
    ['a lease id without a lease', { 'x-ms-lease-id': NO_LEASE }, 412, 'LeaseNotPresentWithBlobOperation'],
  ] // prettier-ignore
  for (const [name, headers, status, code] of REFUSED) {
    test(`with ${name} → ${status} ${code}, and nothing changes`, async () => {
      await put('kept', { 'x-ms-tags': 'k=v' })
      const before = await tierState('/box/kept')
      await assertRefused(setTier('kept', 'Cool', headers), status, code)
      assert.deepEqual(await tierState('/box/kept'), before)
      assert.equal((await setTier('kept', 'Hot', { 'x-ms-if-tags': "k = 'v'" })).status, 200)
      await send('DELETE', '/box/kept')
    })
  }

  test('of a missing blob → 404, of an append blob → 409', async () => {
    await assertRefused(setTier('none', 'Cool'), 404, 'BlobNotFound')
    const elsewhere = send('PUT', '/none/b?comp=tier', { 'x-ms-access-tier': 'Cool' })
    await assertRefused(elsewhere, 404, 'ContainerNotFound')
    await send('PUT', '/box/log', { 'x-ms-blob-type': 'AppendBlob' })
    await assertRefused(setTier('log', 'Cool'), 409, 'InvalidBlobType')
  })

  test('needs the lease id while the blob is leased', async () => {
    await put('leased')
    const id = randomUUID()
    await container.getBlobClient('leased').getBlobLeaseClient(id).acquireLease(-1)
    await assertRefused(setTier('leased', 'Cool'), 412, 'LeaseIdMissing')
    const other = setTier('leased', 'Cool', { 'x-ms-lease-id': NO_LEASE })
    await assertRefused(other, 412, 'LeaseIdMismatchWithBlobOperation')
    assert.equal((await setTier('leased', 'Cool', { 'x-ms-lease-id': id })).status, 200)
  })

  test('can set only the tier of a snapshot, which cannot be rehydrated', async () => {
    const blob = container.getBlockBlobClient('snap')
    await blob.upload('x', 1)
    const { snapshot = '' } = await blob.createSnapshot()
    const past = blob.withSnapshot(snapshot)
    await past.setAccessTier('Cool')
    assert.equal((await past.getProperties()).accessTier, 'Cool')
    assert.equal((await blob.getProperties()).accessTierInferred, true)
    await past.setAccessTier('Archive')
    await assert.rejects(past.setAccessTier('Hot'), { code: 'BlobOperationNotSupported' })
    await assert.rejects(past.downloadToBuffer(), { code: 'BlobArchived' })
    assert.equal((await blob.downloadToBuffer()).toString(), 'x')
  })
})

describe('rehydration', () => {
  const WAYS: readonly (readonly [string, Headers, number])[] = [
    ['Standard', {}, 15 * HOUR_MS],
    ['Standard', { 'x-ms-rehydrate-priority': 'Standard' }, 15 * HOUR_MS],
    ['High', { 'x-ms-rehydrate-priority': 'High' }, HOUR_MS],
  ]
  for (const [priority, headers, durationMs] of WAYS) {
    for (const tier of ['Hot', 'Cool', 'Cold']) {
      const sent = Object.keys(headers).length === 0 ? 'by default' : 'as requested'
      test(`to ${tier} takes ${durationMs / HOUR_MS} h with ${priority} priority ${sent}`, async () => {
        await put('out', { 'x-ms-access-tier': 'Archive' })
        const archived = await tierState('/box/out')
        server.advance(HOUR_MS)
        assert.equal((await setTier('out', tier, headers)).status, 202)
        const status = `rehydrate-pending-to-${tier.toLowerCase()}`
        server.advance(durationMs - 1)
        assert.deepEqual(await tierState('/box/out'), { ...archived, status, priority })
        await assertRefused(send('GET', '/box/out'), 409, 'BlobBeingRehydrated')
        server.advance(1)
        const now = { tier, changed: httpNow(), ...NOT_REHYDRATED }
        assert.deepEqual(await tierState('/box/out'), now)
        assert.equal((await send('GET', '/box/out')).text, 'hello')
        await send('DELETE', '/box/out')
      })
    }
  }

  test('cannot be redirected or reversed, but repeated', async () => {
    await put('way', { 'x-ms-access-tier': 'Archive' })
    await setTier('way', 'Hot')
    for (const tier of ['Cool', 'Cold', 'Archive']) {
      await assertRefused(setTier('way', tier), 409, 'BlobBeingRehydrated')
    }
    const before = await tierState('/box/way')
    assert.equal((await setTier('way', 'Hot')).status, 202)
    assert.deepEqual(await tierState('/box/way'), before)
    server.advance(15 * HOUR_MS)
    assert.equal((await setTier('way', 'Cool')).status, 200)
    assert.equal((await tierState('/box/way')).tier, 'Cool')
  })

  test('can get a higher priority, but not a lower one', async () => {
    const high = { 'x-ms-rehydrate-priority': 'High' }
    await put('fast', { 'x-ms-access-tier': 'Archive' })
    await setTier('fast', 'Hot')
    assert.equal((await setTier('fast', 'Hot', high)).status, 202)
    assert.equal((await tierState('/box/fast')).priority, 'High')
    const standard = { 'x-ms-rehydrate-priority': 'Standard' }
    assert.equal((await setTier('fast', 'Hot', standard)).status, 202)
    assert.equal((await tierState('/box/fast')).priority, 'High')
    server.advance(HOUR_MS)
    assert.equal((await tierState('/box/fast')).tier, 'Hot')
    // Near its end, a higher priority must not delay it.
    await put('late', { 'x-ms-access-tier': 'Archive' })
    await setTier('late', 'Hot')
    server.advance(15 * HOUR_MS - 1)
    await setTier('late', 'Hot', high)
    server.advance(1)
    assert.equal((await tierState('/box/late')).tier, 'Hot')
  })
})

describe('an archived blob', () => {
  const BLOCK_ID = Buffer.from('a').toString('base64')
  const REFUSED: readonly (readonly [string, string, string, Headers, string?])[] = [
    ['Get Blob', 'GET', '', {}],
    ['Put Blob', 'PUT', '', BLOCK_BLOB, 'x'],
    ['Snapshot Blob', 'PUT', '?comp=snapshot', {}],
    ['Put Block', 'PUT', `?comp=block&blockid=${BLOCK_ID}`, {}, 'x'],
    ['Put Block List', 'PUT', '?comp=blocklist', {}, '<BlockList></BlockList>'],
  ]
  for (const [name, method, query, headers, body] of REFUSED) {
    test(`${name} → 409 BlobArchived`, async () => {
      await send('DELETE', '/box/cold')
      await put('cold', { 'x-ms-access-tier': 'Archive' })
      await assertRefused(send(method, `/box/cold${query}`, headers, body), 409, 'BlobArchived')
      await setTier('cold', 'Hot')
      const pending = send(method, `/box/cold${query}`, headers, body)
      await assertRefused(pending, 409, 'BlobBeingRehydrated')
    })
  }

  test('permits reading and setting properties, metadata and tags, listing and deleting', async () => {
    const blob = container.getBlockBlobClient('ice')
    await blob.upload('x', 1, { tier: 'Archive' })
    await blob.setMetadata({ a: '1' })
    await blob.setHTTPHeaders({ blobContentType: 'text/css' })
    await blob.setTags({ k: 'v' })
    const now = await blob.getProperties()
    assert.deepEqual(
      [now.metadata, now.contentType, now.accessTier],
      [{ a: '1' }, 'text/css', 'Archive'],
    )
    assert.deepEqual((await blob.getTags()).tags, { k: 'v' })
    const names: string[] = []
    for await (const item of container.listBlobsFlat({ prefix: 'ice' })) names.push(item.name)
    assert.deepEqual(names, ['ice'])
    await blob.delete()
    await assertRefused(send('HEAD', '/box/ice'), 404, 'BlobNotFound')
  })
})

describe('the tier of a page blob', () => {
  const GIB = 2 ** 30
  const putPages = (name: string, lengthBytes: number, headers: Headers = {}) => {
    const page = {
      'x-ms-blob-type': 'PageBlob',
      'x-ms-blob-content-length': String(lengthBytes),
    }
    return send('PUT', `/box/${name}`, { ...page, ...headers })
  }

  test('is a disk tier and can only be raised', async () => {
    await putPages('vhd', 512)
    assert.equal((await tierState('/box/vhd')).tier, undefined)
    const tiers = ['P4', 'P6', 'P10', 'P15', 'P20', 'P30', 'P40', 'P50', 'P60', 'P70', 'P80']
    for (const [index, tier] of tiers.entries()) {
      assert.equal((await setTier('vhd', tier)).status, 200)
      assert.equal((await setTier('vhd', tier.toLowerCase())).status, 200)
      assert.equal((await tierState('/box/vhd')).tier, tier)
      for (const lower of tiers.slice(0, index)) {
        await assertRefused(setTier('vhd', lower), 409, 'CannotChangeToLowerTier')
      }
    }
    await assertRefused(setTier('vhd', 'Cool'), 400, 'InvalidBlobTier')
  })

  test('has to be large enough for the blob', async () => {
    await putPages('big', 64 * GIB)
    await assertRefused(setTier('big', 'P4'), 409, 'BlobTierInadequateForContentLength')
    assert.equal((await setTier('big', 'P6')).status, 200)
  })

  test('can be set when the blob is created', async () => {
    await putPages('tiered', 512, { 'x-ms-access-tier': 'P20' })
    assert.equal((await tierState('/box/tiered')).tier, 'P20')
    await assertRefused(
      putPages('warm', 512, { 'x-ms-access-tier': 'Hot' }),
      400,
      'InvalidBlobTier',
    )
  })
})
