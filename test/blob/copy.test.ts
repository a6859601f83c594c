// Copy Blob within a server: what is copied, what the request can set, and that later changes to a copy or its source
// do not affect the other.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BlobClient } from '@azure/storage-blob'
import { type Headers, assertRefused } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, container, send } = await startBlobFixture()

const urlOf = (name: string) => container.getBlobClient(name).url

function copy(from: string, to: string, headers: Headers = {}) {
  return send('PUT', `/box/${to}`, { 'x-ms-copy-source': urlOf(from), ...headers })
}

const putBlock = (name: string, text: string) =>
  container.getBlockBlobClient(name).upload(text, text.length)

async function textOf(blob: BlobClient): Promise<string> {
  return (await blob.downloadToBuffer()).toString()
}

const contentOf = (name: string) => textOf(container.getBlobClient(name))

async function putPages(name: string, lengthBytes: number, byte: number) {
  const client = container.getPageBlobClient(name)
  await client.create(lengthBytes, { blobSequenceNumber: 7 })
  await client.uploadPages(Buffer.alloc(512, byte), 512, 512)
  return client
}

async function putAppended(name: string, ...texts: readonly string[]) {
  const client = container.getAppendBlobClient(name)
  await client.create()
  for (const text of texts) await client.appendBlock(text, text.length)
  return client
}

describe('Copy Blob', () => {
  test('returns the copy id, which the properties of the destination also show', async () => {
    await putBlock('answer', 'text')
    const poller = await container.getBlobClient('answer-copy').beginCopyFromURL(urlOf('answer'))
    const { copyId, copyStatus, etag, lastModified } = await poller.pollUntilDone()
    assert.match(copyId ?? '', /^[0-9a-f-]{36}$/)
    assert.equal(copyStatus, 'success')
    const properties = await container.getBlobClient('answer-copy').getProperties()
    assert.equal(properties.copyId, copyId)
    assert.equal(properties.copySource, urlOf('answer'))
    assert.equal(properties.copyProgress, '4/4')
    assert.equal(properties.copyStatus, 'success')
    assert.equal(properties.etag, etag)
    assert.deepEqual(properties.lastModified, lastModified)
    assert.equal(properties.copyCompletedOn?.getTime(), Math.floor(server.now() / 1000) * 1000)
    assert.equal((await copy('answer', 'answer-copy')).status, 202)
  })

  test('copies properties and metadata but not tags, leases and tiers', async () => {
    await container.getBlockBlobClient('rich').upload('text', 4, {
      blobHTTPHeaders: {
        blobContentType: 'text/plain',
        blobContentLanguage: 'de',
        blobCacheControl: 'no-cache',
        blobContentDisposition: 'inline',
        blobContentEncoding: 'x',
      },
      metadata: { One: '1', two: '2' },
      tags: { t: 'v' },
      tier: 'Cool',
    })
    await container.getBlobClient('rich').getBlobLeaseClient().acquireLease(-1)
    await copy('rich', 'rich-copy')
    const source = await container.getBlobClient('rich').getProperties()
    const created = await container.getBlobClient('rich-copy').getProperties()
    for (const name of [
      'contentType', 'contentLanguage', 'cacheControl', 'contentDisposition', 'contentEncoding',
      'contentMD5', 'contentLength', 'blobType', 'metadata',
    ] as const) assert.deepEqual(created[name], source[name], name) // prettier-ignore
    assert.notEqual(created.etag, source.etag)
    assert.equal(created.leaseState, 'available')
    assert.equal(created.tagCount, undefined)
    assert.equal(created.accessTier, 'Hot')
  })

  test("replaces the source's metadata with that of the request", async () => {
    await container.getBlockBlobClient('meta').upload('text', 4, { metadata: { a: '1', b: '2' } })
    await copy('meta', 'meta-copy', { 'x-ms-meta-c': '3' })
    const { metadata } = await container.getBlobClient('meta-copy').getProperties()
    assert.deepEqual(metadata, { c: '3' })
  })

  test('sets tags from x-ms-tags or copies them with the option COPY, but not both', async () => {
    await container.getBlockBlobClient('tags').upload('text', 4, { tags: { from: 'source' } })
    const tagsOf = async (name: string) => (await container.getBlobClient(name).getTags()).tags
    await copy('tags', 'tags-1', { 'x-ms-tags': 'own=1' })
    assert.deepEqual(await tagsOf('tags-1'), { own: '1' })
    await copy('tags', 'tags-2', { 'x-ms-copy-source-tag-option': 'COPY' })
    assert.deepEqual(await tagsOf('tags-2'), { from: 'source' })
    await copy('tags', 'tags-3', { 'x-ms-copy-source-tag-option': 'REPLACE', 'x-ms-tags': 'own=3' })
    assert.deepEqual(await tagsOf('tags-3'), { own: '3' })
    const both = { 'x-ms-copy-source-tag-option': 'COPY', 'x-ms-tags': 'own=1' }
    const code = 'BothUserTagsAndSourceTagsCopyPresentException'
    await assertRefused(copy('tags', 'tags-4', both), 400, code)
  })

  test('copies the block list and discards uncommitted blocks of the destination', async () => {
    const source = container.getBlockBlobClient('blocks')
    const ids = ['a', 'b'].map((text) => Buffer.from(text).toString('base64'))
    for (const id of ids) await source.stageBlock(id, `block ${id}`, 10)
    await source.commitBlockList(ids)
    const created = container.getBlockBlobClient('blocks-copy')
    await created.stageBlock(Buffer.from('x').toString('base64'), 'staged', 6)
    await copy('blocks', 'blocks-copy')
    const list = await created.getBlockList('all')
    assert.deepEqual(
      list.committedBlocks?.map(({ name }) => name),
      ids,
    )
    assert.deepEqual(list.uncommittedBlocks ?? [], [])
    assert.equal(await contentOf('blocks-copy'), `block ${ids[0]}block ${ids[1]}`)
  })

  test('keeps the block count of an append blob and its seal, unless the request says otherwise', async () => {
    const source = await putAppended('sealed', 'a', 'b')
    await source.seal()
    const propertiesOf = (name: string) => container.getBlobClient(name).getProperties()
    await copy('sealed', 'sealed-1')
    const created = await propertiesOf('sealed-1')
    assert.deepEqual(
      [created.blobType, created.blobCommittedBlockCount, created.isSealed],
      ['AppendBlob', 2, true],
    )
    await copy('sealed', 'sealed-2', { 'x-ms-seal-blob': 'false' })
    assert.equal((await propertiesOf('sealed-2')).isSealed, undefined)
    await copy('sealed-2', 'sealed-3', { 'x-ms-seal-blob': 'true' })
    assert.equal((await propertiesOf('sealed-3')).isSealed, true)
    await putBlock('unsealable', 'x')
    await assertRefused(
      copy('unsealable', 'unsealed', { 'x-ms-seal-blob': 'true' }),
      409,
      'InvalidBlobType',
    )
  })

  test('keeps the sequence number and the holes of a page blob', async () => {
    await putPages('pages', 2048, 1)
    await copy('pages', 'pages-copy')
    const created = container.getPageBlobClient('pages-copy')
    const { blobSequenceNumber, contentLength } = await created.getProperties()
    assert.deepEqual([blobSequenceNumber, contentLength], [7, 2048])
    const ranges = await created.getPageRanges()
    // The SDK's count is the distance to the last byte.
    assert.deepEqual(ranges.pageRange, [{ offset: 512, count: 511 }])
  })
})

describe('a copy and its source are independent:', () => {
  const CHANGES: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
    'overwriting a block blob': (name) => putBlock(name, 'other'),
    'deleting a block blob': (name) => container.deleteBlob(name),
  }
  for (const [what, change] of Object.entries(CHANGES)) {
    for (const size of ['small', 'large']) {
      test(`${what} (${size}) does not change the other`, async () => {
        const text = size === 'small' ? 'text' : 'x'.repeat(100_000)
        await putBlock('source', text)
        await copy('source', 'copied')
        await change('source')
        assert.equal(await contentOf('copied'), text)
        await putBlock('source', text)
        await copy('source', 'copied')
        await change('copied')
        assert.equal(await contentOf('source'), text)
        await server.sweep()
        assert.equal(await contentOf('source'), text)
        await container.deleteBlob('source')
        await container.getBlobClient('copied').deleteIfExists()
      })
    }
  }

  test('appending to one does not change the other', async () => {
    const source = await putAppended('log', 'one')
    await copy('log', 'log-copy')
    await source.appendBlock(' two', 4)
    assert.equal(await contentOf('log-copy'), 'one')
    await container.getAppendBlobClient('log-copy').appendBlock(' three', 6)
    assert.deepEqual(
      [await contentOf('log'), await contentOf('log-copy')],
      ['one two', 'one three'],
    )
    await source.delete()
    await server.sweep()
    assert.equal(await contentOf('log-copy'), 'one three')
  })

  test('writing a page of one does not change the other', async () => {
    const source = await putPages('disk', 1024, 1)
    await copy('disk', 'disk-copy')
    const created = container.getPageBlobClient('disk-copy')
    await source.uploadPages(Buffer.alloc(512, 2), 0, 512)
    await created.clearPages(512, 512)
    const bytesOf = async (blob: BlobClient) => {
      const bytes = await blob.downloadToBuffer()
      return [bytes[0], bytes[512]]
    }
    assert.deepEqual(
      [await bytesOf(source), await bytesOf(created)],
      [
        [2, 1],
        [0, 0],
      ],
    )
    await source.delete()
    await server.sweep()
    assert.deepEqual(await bytesOf(created), [0, 0])
  })

  test('copying a blob to itself changes metadata and discards uncommitted blocks', async () => {
    await putBlock('self', 'x'.repeat(20_000))
    const client = container.getBlockBlobClient('self')
    await client.stageBlock(Buffer.from('x').toString('base64'), 'staged', 6)
    assert.equal((await copy('self', 'self', { 'x-ms-meta-new': '1' })).status, 202)
    assert.deepEqual((await client.getProperties()).metadata, { new: '1' })
    assert.deepEqual((await client.getBlockList('uncommitted')).uncommittedBlocks ?? [], [])
    await server.sweep()
    assert.equal(await contentOf('self'), 'x'.repeat(20_000))
  })

  test('copying a snapshot to its base blob promotes and keeps it', async () => {
    await putBlock('promoted', 'old')
    const client = container.getBlobClient('promoted')
    const { snapshot = '' } = await client.createSnapshot()
    await putBlock('promoted', 'new')
    const { url } = client.withSnapshot(snapshot)
    await send('PUT', '/box/promoted', { 'x-ms-copy-source': url })
    assert.equal(await contentOf('promoted'), 'old')
    assert.equal(await textOf(client.withSnapshot(snapshot)), 'old')
  })

  test('the next write removes the copy properties', async () => {
    await putBlock('said', 'x')
    await copy('said', 'said-copy')
    const client = container.getBlobClient('said-copy')
    await client.setMetadata({ a: '1' })
    assert.equal((await client.getProperties()).copyId, undefined)
  })
})
