// The items of List Blobs compared with Get Blob Properties of the same blob, and the parts that must be included
// explicitly: metadata, tags, copies, policies, holds.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ContainerSASPermissions, type BlobItem } from '@azure/storage-blob'
import { xmlText } from '../harness.ts'
import { EVERYTHING, type ListOptions } from './every-blob.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture({ container: 'items' })
const LEASE_ID = '11111111-aaaa-4aaa-8aaa-111111111111'
const HOUR_MS = 60 * 60 * 1_000

async function itemOf(name: string, options: ListOptions = {}): Promise<BlobItem> {
  const list = container.listBlobsFlat({ ...options, prefix: name })
  for await (const item of list) if (item.name === name) return item
  assert.fail(`${name} is not listed`)
}

/** Properties with the same name in both. */
const SHARED = [
  'accessTier', 'accessTierInferred', 'archiveStatus', 'blobSequenceNumber', 'blobType',
  'cacheControl', 'contentDisposition', 'contentEncoding', 'contentLanguage', 'contentLength',
  'contentMD5', 'contentType', 'copyCompletedOn', 'copyId', 'copyProgress', 'copySource',
  'copyStatus', 'encryptionScope', 'lastModified', 'leaseDuration', 'leaseState', 'leaseStatus',
  'rehydratePriority',
] as const // prettier-ignore

async function assertAlike(name: string): Promise<BlobItem> {
  const item = await itemOf(name, EVERYTHING)
  const properties = await container.getBlobClient(name).getProperties()
  const got: Record<string, unknown> = { ...properties }
  const listed: Record<string, unknown> = { ...item.properties }
  // The list has an empty element where the response has no header.
  const known = (value: unknown) =>
    value === '' || (value instanceof Uint8Array && value.length === 0) ? undefined : value
  for (const key of SHARED) {
    assert.deepEqual(known(listed[key]), known(got[key]), `${name} ${key}`)
  }
  assert.equal(`"${item.properties.etag}"`, properties.etag)
  assert.deepEqual(item.properties.createdOn, properties.createdOn)
  assert.deepEqual(item.properties.accessTierChangedOn, properties.accessTierChangedOn)
  return item
}

const put = (name: string, options = {}) =>
  container.getBlockBlobClient(name).upload('hello', 5, options)

describe('an item has the same values as Get Blob Properties', () => {
  test('for a block blob with every header, metadata and tags', async () => {
    const blobHTTPHeaders = {
      blobCacheControl: 'no-store',
      blobContentDisposition: 'inline; filename="a&b"',
      blobContentEncoding: 'br',
      blobContentLanguage: 'la',
      blobContentType: 'text/css',
    }
    await put('block', { blobHTTPHeaders, metadata: { Team: 'a<b' }, tags: { k: 'v w', z: '' } })
    const item = await assertAlike('block')
    assert.deepEqual(item.metadata, { Team: 'a<b' })
    assert.deepEqual(item.tags, { k: 'v w', z: '' })
    assert.equal(item.properties.tagCount, 2)
    const plain = await itemOf('block')
    assert.deepEqual([plain.tags, plain.metadata], [undefined, undefined])
    assert.equal(plain.properties.tagCount, 2)
  })

  test('for a page blob', async () => {
    await container.getPageBlobClient('page').create(1_024, { blobSequenceNumber: 7 })
    const item = await assertAlike('page')
    assert.equal(item.properties.blobSequenceNumber, 7)
    assert.equal(item.properties.accessTier, undefined)
  })

  test('for an append blob, open and sealed', async () => {
    const blob = container.getAppendBlobClient('append')
    await blob.create()
    await blob.appendBlock('abc', 3)
    assert.equal((await assertAlike('append')).properties.contentLength, 3)
    const sealed = () =>
      send('GET', '/items?restype=container&comp=list&prefix=append').then(({ text }) =>
        xmlText(text, 'Sealed'),
      )
    assert.equal(await sealed(), undefined)
    await blob.seal()
    assert.equal(await sealed(), 'true')
  })

  test('for a blob in each tier, and while it is rehydrated', async () => {
    for (const tier of ['Hot', 'Cool', 'Cold', 'Archive']) {
      await put(`tier-${tier}`, { tier })
      assert.equal((await assertAlike(`tier-${tier}`)).properties.accessTier, tier)
    }
    const archived = container.getBlobClient('tier-Archive')
    await archived.setAccessTier('Cool', { rehydratePriority: 'High' })
    const item = await assertAlike('tier-Archive')
    assert.equal(item.properties.archiveStatus, 'rehydrate-pending-to-cool')
    assert.equal(item.properties.rehydratePriority, 'High')
  })

  test('for a leased blob, and after the lease has expired', async () => {
    await put('leased')
    await container.getBlobClient('leased').getBlobLeaseClient(LEASE_ID).acquireLease(15)
    assert.equal((await assertAlike('leased')).properties.leaseDuration, 'fixed')
    server.advance(15_000)
    assert.equal((await assertAlike('leased')).properties.leaseState, 'expired')
  })

  test('for a copy, whose state must be included', async () => {
    await put('source')
    const { url } = container.getBlobClient('source')
    await (await container.getBlobClient('copy').beginCopyFromURL(url)).pollUntilDone()
    const item = await assertAlike('copy')
    assert.equal(item.properties.copyStatus, 'success')
    assert.equal(item.properties.copyProgress, '5/5')
    assert.equal(item.properties.copySource, url)
    const plain = await itemOf('copy')
    assert.deepEqual([plain.properties.copyId, plain.properties.copyStatus], [undefined, undefined])
  })

  test('for a blob with a policy and a hold, which must be included', async () => {
    await put('kept')
    const blob = container.getBlobClient('kept')
    const expiriesOn = new Date(Math.floor((server.now() + HOUR_MS) / 1_000) * 1_000)
    await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' })
    await blob.setLegalHold(true)
    const item = await assertAlike('kept')
    assert.deepEqual(item.properties.immutabilityPolicyExpiresOn, expiriesOn)
    assert.equal(item.properties.immutabilityPolicyMode, 'unlocked')
    assert.equal(item.properties.legalHold, true)
    const plain = await itemOf('kept', { includeLegalHold: true })
    assert.equal(plain.properties.immutabilityPolicyExpiresOn, undefined)
    assert.equal(plain.properties.legalHold, true)
    assert.equal((await itemOf('kept')).properties.legalHold, undefined)
  })
})

test('a blob with an expiry time shows it and is gone afterwards', async () => {
  await put('brief')
  const set = await send('PUT', '/items/brief?comp=expiry', {
    'x-ms-expiry-option': 'RelativeToNow',
    'x-ms-expiry-time': String(HOUR_MS),
  })
  assert.equal(set.status, 200)
  const path = '/items?restype=container&comp=list&prefix=brief'
  const before = await send('GET', path)
  const expiry = new Date(server.now() + HOUR_MS).toUTCString()
  assert.equal(xmlText(before.text, 'Expiry-Time'), expiry)
  server.advance(HOUR_MS)
  for (const more of [
    '',
    '&delimiter=/',
    '&delimiter=i',
    '&include=snapshots',
    '&include=deleted',
  ]) {
    const after = await send('GET', path + more)
    assert.ok(after.text.includes('<Blobs></Blobs><NextMarker />'), more)
  }
})

test('a name that XML cannot contain is encoded, for blobs and prefixes', async () => {
  const name = 'odd\uffff/\ufffe'
  await put(name)
  assert.equal((await itemOf(name)).name, name)
  const path = `/items?restype=container&comp=list&prefix=odd`
  const flat = await send('GET', path)
  assert.match(flat.text, /<Name Encoded="true">odd%EF%BF%BF%2F%EF%BF%BE<\/Name>/)
  const folded = await send('GET', `${path}&delimiter=/`)
  assert.match(
    folded.text,
    /<BlobPrefix><Name Encoded="true">odd%EF%BF%BF%2F<\/Name><\/BlobPrefix>/,
  )
})

describe('including tags in a list needs their own permission', () => {
  // letters of the SAS → include → status
  const CASES: readonly (readonly [string, string, number])[] = [
    ['l', '', 200],
    ['l', '&include=metadata,snapshots', 200],
    ['l', '&include=tags', 403],
    ['lt', '&include=tags', 200],
    ['t', '&include=tags', 403],
  ]
  for (const [letters, include, status] of CASES) {
    test(`sp=${letters} ${include} → ${status}`, async () => {
      const permissions = ContainerSASPermissions.parse(letters)
      const expiresOn = new Date(server.now() + HOUR_MS)
      const startsOn = new Date(server.now() - HOUR_MS)
      const url = await container.generateSasUrl({ permissions, startsOn, expiresOn })
      const path = `/items?restype=container&comp=list${include}`
      const sign = new URL(url).search
      const answer = await send('GET', path, {}, undefined, sign)
      assert.equal(answer.status, status)
      if (status === 200) return
      assert.equal(answer.headers['x-ms-error-code'], 'AuthorizationPermissionMismatch')
    })
  }
})
