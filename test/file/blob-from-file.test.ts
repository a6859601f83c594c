// Files as the source of blobs: every operation of the Blob service that copies from a URL accepts a file of this
// server, and respects SMB clients that use it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { FileSASPermissions, type ShareFileClient } from '@azure/storage-file-share'
import { ACCOUNT, ACCOUNT_KEY, rawRequest, assertRefused, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'
import { acknowledge, cacheOpen, CACHES, onBreak, openPlace, placeOf } from './smb-client.ts'

const BYTES = Buffer.alloc(100_000, 'bytes of a file')
const PAGES = 98_304

const { server, share } = await startFileFixture({ encryptionScopes: ['scope'] })
let count = 0

const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
const endpoint = `http://127.0.0.1:${server.blobPort}/${ACCOUNT}`
const container = new BlobServiceClient(endpoint, credential).getContainerClient('box')
await container.create()

const source = share.rootDirectoryClient.getFileClient('source')
const fileHttpHeaders = { fileContentType: 'text/plain' }
await source.create(BYTES.length, { metadata: { a: '1' }, fileHttpHeaders })
await source.uploadRange(BYTES, 0, BYTES.length)

const newName = () => `blob-${(count += 1)}`

function send(name: string, url: string, headers: Headers = {}) {
  const all = { 'x-ms-copy-source': url, ...headers }
  return rawRequest(server, { method: 'PUT', path: `/box/${name}`, headers: all })
}

async function sasUrl(file: ShareFileClient): Promise<string> {
  const expiresOn = new Date(server.now() + 3_600_000)
  return file.generateSasUrl({ permissions: FileSASPermissions.parse('r'), expiresOn })
}

describe('a blob copied from a file', () => {
  test('by Copy Blob is an independent block blob', async () => {
    const blob = container.getBlockBlobClient(newName())
    const poller = await blob.beginCopyFromURL(await sasUrl(source))
    assert.equal((await poller.pollUntilDone()).copyStatus, 'success')
    const properties = await blob.getProperties()
    assert.equal(properties.blobType, 'BlockBlob')
    assert.equal(properties.contentType, 'text/plain')
    assert.deepEqual(properties.metadata, { a: '1' })
    assert.deepEqual(await blob.downloadToBuffer(), BYTES)
    const other = await share.createFile('other', BYTES.length)
    await other.fileClient.uploadRange(BYTES, 0, BYTES.length)
    await send(newName(), other.fileClient.url)
    const copied = container.getBlockBlobClient(`blob-${count}`)
    await other.fileClient.uploadRange('changed', 0, 7)
    await other.fileClient.delete()
    for (let pass = 0; pass < 3; pass += 1) await server.store.sweep({ graceMs: 0 })
    assert.deepEqual(await copied.downloadToBuffer(), BYTES)
    assert.deepEqual((await copied.getBlockList('committed')).committedBlocks, [])
    await copied.createSnapshot()
    await copied.stageBlock('AAAA', 'x', 1)
    await copied.commitBlockList(['AAAA'])
    assert.equal((await copied.downloadToBuffer()).toString(), 'x')
  })

  test('with holes, or never written, has zeros there', async () => {
    for (const isWritten of [true, false]) {
      const { fileClient: file } = await share.createFile(newName(), 50_000)
      if (isWritten) await file.uploadRange('x', 40_000, 1)
      const name = newName()
      assert.equal((await send(name, file.url)).status, 202)
      const expected = Buffer.alloc(50_000)
      if (isWritten) expected.write('x', 40_000)
      assert.deepEqual(await container.getBlobClient(name).downloadToBuffer(), expected)
    }
  })

  test('without a content type has the default type of a blob', async () => {
    const { fileClient: file } = await share.createFile(newName(), 3)
    await file.setHttpHeaders({ fileContentLanguage: 'en' })
    assert.equal((await file.getProperties()).contentType, undefined)
    const name = newName()
    assert.equal((await send(name, file.url)).status, 202)
    const { contentType, contentLanguage } = await container.getBlobClient(name).getProperties()
    assert.deepEqual([contentType, contentLanguage], ['application/octet-stream', 'en'])
  })

  test('can be from a share snapshot', async () => {
    const { fileClient: file } = await share.createFile(newName(), 3)
    await file.uploadRange('old', 0, 3)
    const { snapshot = '' } = await share.createSnapshot()
    await file.uploadRange('new', 0, 3)
    const name = newName()
    await send(name, `${file.url}?sharesnapshot=${encodeURIComponent(snapshot)}`)
    assert.equal((await container.getBlobClient(name).downloadToBuffer()).toString(), 'old')
  })

  test('can be encrypted with a scope', async () => {
    const name = newName()
    const answer = await send(name, source.url, { 'x-ms-encryption-scope': 'scope' })
    assert.equal(answer.status, 202, answer.text)
    assert.deepEqual(await container.getBlobClient(name).downloadToBuffer(), BYTES)
  })

  test('can be made by Copy Blob From URL and Put Blob From URL', async () => {
    const url = await sasUrl(source)
    const [copied, put] = [newName(), newName()].map((name) => container.getBlockBlobClient(name))
    await copied?.syncCopyFromURL(url)
    await put?.syncUploadFromURL(url)
    for (const blob of [copied, put]) assert.deepEqual(await blob?.downloadToBuffer(), BYTES)
  })

  test('can be made by Put Block, Append Block and Put Page From URL', async () => {
    const url = await sasUrl(source)
    const blocks = container.getBlockBlobClient(newName())
    await blocks.stageBlockFromURL('AAAA', url, 10, 20)
    await blocks.commitBlockList(['AAAA'])
    assert.deepEqual(await blocks.downloadToBuffer(), BYTES.subarray(10, 30))
    const appended = container.getAppendBlobClient(newName())
    await appended.create()
    await appended.appendBlockFromURL(url, 0, 100)
    assert.deepEqual(await appended.downloadToBuffer(), BYTES.subarray(0, 100))
    const pages = container.getPageBlobClient(newName())
    await pages.create(PAGES)
    await pages.uploadPagesFromURL(url, 0, 0, PAGES)
    assert.deepEqual(await pages.downloadToBuffer(), BYTES.subarray(0, PAGES))
  })
})

describe('a copy from a file is refused or waits:', () => {
  test('conditions on the source apply to the file', async () => {
    const { etag = '' } = await source.getProperties()
    const match = { 'x-ms-source-if-match': etag }
    assert.equal((await send(newName(), source.url, match)).status, 202)
    const other = send(newName(), source.url, { 'x-ms-source-if-none-match': etag })
    await assertRefused(other, 412, 'SourceConditionNotMet')
  })

  test('a missing file, or a copy by another account without a SAS', async () => {
    const none = share.rootDirectoryClient.getFileClient('none').url
    await assertRefused(send(newName(), none), 404, 'CannotVerifyCopySource')
    const wrong = `${source.url}?sv=2024-11-04&sr=f&sp=r&se=2099-01-01T00%3A00%3A00Z&sig=AAAA`
    await assertRefused(send(newName(), wrong), 403, 'CannotVerifyCopySource')
  })

  test('an incremental copy, which needs a page blob', async () => {
    const request = { method: 'PUT', path: '/box/x?comp=incrementalcopy' }
    const headers = { 'x-ms-copy-source': source.url }
    await assertRefused(rawRequest(server, { ...request, headers }), 409, 'InvalidSourceBlobUrl')
  })

  test('an SMB client that denies reading', async () => {
    const { fileClient: file } = await share.createFile(newName(), 3)
    await openPlace(server, await placeOf(server, 'box', file.path), { shareAccess: 0 })
    const url = await sasUrl(file)
    await assertRefused(send(newName(), url), 409, 'CannotVerifyCopySource')
    const block = container.getBlockBlobClient(newName()).stageBlockFromURL('AAAA', url, 0, 3)
    await assert.rejects(block, { statusCode: 409, code: 'CannotVerifyCopySource' })
  })

  test('an SMB client with cached writes has to flush them first', async () => {
    const { fileClient: file } = await share.createFile(newName(), 3)
    const place = await placeOf(server, 'box', file.path)
    await cacheOpen(server, place, CACHES.RWH)
    const { breaks, stop } = onBreak(server, ({ holder, to }) =>
      acknowledge(server, place, holder, to),
    )
    assert.equal((await send(newName(), file.url)).status, 202)
    stop()
    assert.deepEqual(
      breaks.map(({ isAwaited, to }) => [isAwaited, to]),
      [[true, CACHES.RH]],
    )
  })
})
