// A container with every kind of blob that a list can show: each type, snapshots, versions, deleted and uncommitted
// blobs, and every property that a blob can have.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { ContainerClient } from '@azure/storage-blob'
import { DAY_MS } from '../harness.ts'
import { keyHeaders, newKey, startSecureServer, type SecureServer } from './secure-server.ts'

export const CONTAINER = 'every'
const SCOPE = 'scope-1'
const NEWEST = '2026-10-06'

/** Names that are difficult for XML, UTF-8 or paths. */
const ODD_NAMES = ['a&b <c>"d"', '日本/語', 'emoji 😀', 'not\uffffXML', ' x ']

export type ListOptions = NonNullable<Parameters<ContainerClient['listBlobsFlat']>[0]>

/** The options of a list that shows all blobs with everything they have. */
export const EVERYTHING: ListOptions = {
  includeCopy: true,
  includeDeleted: true,
  includeDeletedWithVersions: true,
  includeImmutabilityPolicy: true,
  includeLegalHold: true,
  includeMetadata: true,
  includeSnapshots: true,
  includeTags: true,
  includeUncommitedBlobs: true,
  includeVersions: true,
}

export type EveryBlob = {
  readonly server: SecureServer
  readonly container: ContainerClient
}

export async function startWithEveryBlob(): Promise<EveryBlob> {
  const server = await startSecureServer({ silent: true, encryptionScopes: [SCOPE] })
  after(() => server.close())
  const container = server.client.getContainerClient(CONTAINER)
  await container.create()
  await turnOn(server, false)
  await deleteOne(container)
  await turnOn(server, true)
  await putTypes(container)
  await putState(server, container)
  await putPast(server, container)
  for (const name of ODD_NAMES) await container.getBlockBlobClient(name).upload('x', 1)
  return { server, container }
}

async function turnOn(server: SecureServer, isVersioned: boolean): Promise<void> {
  const body =
    `<StorageServiceProperties><IsVersioningEnabled>${isVersioned}</IsVersioningEnabled>` +
    '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy>' +
    '<LastAccessTimeTrackingPolicy><Enable>true</Enable></LastAccessTimeTrackingPolicy>' +
    '</StorageServiceProperties>'
  await send(server, 'PUT', '/?restype=service&comp=properties', {}, body)
}

async function send(
  server: SecureServer,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<void> {
  const all = { 'x-ms-version': NEWEST, ...headers }
  const answer = await server.send({ method, path, headers: all, ...(body && { body }) })
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
}

/** Without versioning, soft delete keeps a deleted blob and its snapshots. */
async function deleteOne(container: ContainerClient): Promise<void> {
  const blob = container.getBlockBlobClient('past/soft-deleted')
  await blob.upload('gone', 4, { metadata: { n: '0' } })
  await blob.createSnapshot()
  await blob.delete({ deleteSnapshots: 'include' })
}

async function putTypes(container: ContainerClient): Promise<void> {
  const blobHTTPHeaders = {
    blobCacheControl: 'no-cache',
    blobContentDisposition: 'attachment; filename="a"',
    blobContentEncoding: 'gzip',
    blobContentLanguage: 'la',
    blobContentType: 'text/css; charset=utf-8',
  }
  const options = {
    blobHTTPHeaders,
    metadata: { Team: 'a<b', empty: '' },
    tags: { k: 'v', 'a b': '1' },
  }
  await container.getBlockBlobClient('types/block').upload('hello', 5, options)
  await container.getBlockBlobClient('types/plain').upload('', 0)
  await container.getBlockBlobClient('types/staged').stageBlock('YQ==', 'hello', 5)
  const page = container.getPageBlobClient('types/page')
  await page.create(1_024, { blobSequenceNumber: 7, tags: { type: 'page' } })
  await container.getPageBlobClient('types/premium').create(512, { tier: 'P10' })
  const append = container.getAppendBlobClient('types/append')
  await append.create({ metadata: { log: '1' } })
  await append.appendBlock('line', 4)
  await append.seal()
}

async function putState(server: SecureServer, container: ContainerClient): Promise<void> {
  const put = (name: string, options = {}) =>
    container.getBlockBlobClient(`state/${name}`).upload('hello', 5, options)
  for (const tier of ['Hot', 'Cool', 'Cold', 'Archive', 'Smart'])
    await put(`tier-${tier}`, { tier })
  await put('rehydrated', { tier: 'Archive' })
  const rehydrated = container.getBlobClient('state/rehydrated')
  await rehydrated.setAccessTier('Smart', { rehydratePriority: 'High' })
  await put('leased')
  await container.getBlobClient('state/leased').getBlobLeaseClient().acquireLease(-1)
  await put('leased-60')
  await container.getBlobClient('state/leased-60').getBlobLeaseClient().acquireLease(60)
  await put('held')
  const held = container.getBlobClient('state/held')
  await held.setLegalHold(true)
  const expiriesOn = new Date(server.now() + DAY_MS)
  await held.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' })
  await put('customer-key', { customerProvidedKey: newKey(), metadata: { secret: '1' } })
  await put('scope', { encryptionScope: SCOPE, metadata: { open: '1' } })
  const expiry = { 'x-ms-expiry-option': 'RelativeToNow', 'x-ms-expiry-time': String(DAY_MS) }
  await put('expiring')
  await send(server, 'PUT', `/${CONTAINER}/state/expiring?comp=expiry`, expiry)
}

async function putPast(server: SecureServer, container: ContainerClient): Promise<void> {
  const blob = container.getBlockBlobClient('past/blob')
  await blob.upload('one', 3, { metadata: { n: '1' }, tags: { n: '1' } })
  await blob.createSnapshot()
  server.advance(1_000)
  await blob.upload('two', 3, { metadata: { n: '2' } })
  const deleted = container.getBlockBlobClient('past/deleted')
  await deleted.upload('gone', 4)
  await deleted.delete()
  const source = container.getPageBlobClient('types/page')
  const { snapshot = '' } = await source.createSnapshot()
  await container
    .getPageBlobClient('past/backup')
    .startCopyIncremental(source.withSnapshot(snapshot).url)
  const copied = container.getBlobClient('past/copied')
  await (await copied.beginCopyFromURL(container.getBlobClient('types/block').url)).pollUntilDone()
  const key = keyHeaders(newKey())
  await send(
    server,
    'PUT',
    `/${CONTAINER}/past/key`,
    { 'x-ms-blob-type': 'BlockBlob', ...key },
    'x',
  )
  await container.getBlobClient('past/key').delete()
}
