// Copy Blob From URL and Put Blob From URL, which are complete when they are answered.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc64Hasher } from '../../src/extent/hash/hash.ts'
import { md5Of, outcome, type Headers } from '../harness.ts'
import { BLOCK_BLOB, startCopyFixture } from './fixture.ts'
import { file } from '../source-server.ts'

const MIB = 2 ** 20

const { web, server, container, send } = await startCopyFixture()

const TEXT = 'some text'
await container.getBlockBlobClient('source').upload(TEXT, TEXT.length, {
  blobHTTPHeaders: { blobContentType: 'text/x', blobContentLanguage: 'de' },
  metadata: { a: '1' },
  tags: { from: 'source' },
})
web.answer('/file', file(Buffer.from(TEXT), { 'content-type': 'text/x', 'x-ms-meta-a': '1' }))

const crc64Of = (text: string) => {
  const hasher = crc64Hasher()
  hasher.update(Buffer.from(text))
  return hasher.digest().toString('base64')
}

const SYNC = { 'x-ms-requires-sync': 'true' }

const urlOf = (name: string) => container.getBlobClient(name).url

const sendFrom = (to: string, source: string, headers: Headers) =>
  send('PUT', `/box/${to}`, { 'x-ms-copy-source': source, ...headers })

const contentOf = async (name: string) =>
  (await container.getBlobClient(name).downloadToBuffer()).toString()

const PLACES: Readonly<Record<string, () => string>> = {
  'this server': () => urlOf('source'),
  'another server': () => `${web.origin}/file`,
}

for (const [place, source] of Object.entries(PLACES)) {
  describe(`Copy Blob From URL, from ${place}`, () => {
    test('is answered once the copy is complete', async () => {
      const answer = await sendFrom('sync', source(), SYNC)
      assert.equal(answer.status, 202)
      assert.equal(answer.headers['x-ms-copy-status'], 'success')
      assert.equal(answer.headers['x-ms-content-crc64'], crc64Of(TEXT))
      assert.equal(answer.headers['content-md5'], undefined)
      const properties = await container.getBlobClient('sync').getProperties()
      assert.equal(properties.copyId, answer.headers['x-ms-copy-id'])
      assert.equal(properties.etag, answer.headers.etag)
      assert.deepEqual([properties.contentType, properties.metadata], ['text/x', { a: '1' }])
      assert.equal(await contentOf('sync'), TEXT)
    })

    test('checks the MD5 of the source if the request has it', async () => {
      const right = { ...SYNC, 'x-ms-source-content-md5': md5Of(TEXT) }
      const answer = await sendFrom('sync-md5', source(), right)
      assert.equal(answer.headers['content-md5'], md5Of(TEXT))
      const wrong = { ...SYNC, 'x-ms-source-content-md5': md5Of('other') }
      assert.equal(outcome(await sendFrom('sync-bad', source(), wrong)), '400 Md5Mismatch')
      assert.equal(await container.getBlobClient('sync-bad').exists(), false)
      const broken = { ...SYNC, 'x-ms-source-content-md5': 'x' }
      assert.equal(outcome(await sendFrom('sync-bad', source(), broken)), '400 InvalidMd5')
    })

    test('can set its own metadata and tags', async () => {
      const own = { ...SYNC, 'x-ms-meta-b': '2', 'x-ms-tags': 't=v', 'x-ms-access-tier': 'Cool' }
      assert.equal(outcome(await sendFrom('sync-own', source(), own)), '202')
      const blob = container.getBlobClient('sync-own')
      const { metadata, accessTier } = await blob.getProperties()
      assert.deepEqual([metadata, accessTier], [{ b: '2' }, 'Cool'])
      assert.deepEqual((await blob.getTags()).tags, { t: 'v' })
    })

    test("checks conditions of source and destination, and the destination's lease", async () => {
      const client = container.getBlockBlobClient('sync-guarded')
      await client.upload('old', 3)
      const over = async (headers: Headers) =>
        outcome(await sendFrom('sync-guarded', source(), { ...SYNC, ...headers }))
      assert.equal(await over({ 'x-ms-source-if-match': '"0x1"' }), '412 SourceConditionNotMet')
      assert.equal(await over({ 'if-none-match': '*' }), '409 BlobAlreadyExists')
      assert.equal(await over({ 'if-match': '"0x1"' }), '412 TargetConditionNotMet')
      const { leaseId = '' } = await client.getBlobLeaseClient().acquireLease(15)
      assert.equal(await over({}), '412 LeaseIdMissing')
      assert.equal(await over({ 'x-ms-lease-id': leaseId }), '412 InfiniteLeaseDurationRequired')
      assert.equal(await contentOf('sync-guarded'), 'old')
      server.advance(16_000)
    })

    test('does not overwrite a blob of another type', async () => {
      await container.getAppendBlobClient('sync-append').create()
      assert.equal(outcome(await sendFrom('sync-append', source(), SYNC)), '409 InvalidBlobType')
    })
  })

  describe(`Put Blob From URL, from ${place}`, () => {
    test('creates a blob as Put Blob does', async () => {
      const blob = container.getBlockBlobClient('put')
      const answer = await blob.syncUploadFromURL(source())
      const properties = await blob.getProperties()
      assert.equal(properties.etag, answer.etag)
      assert.deepEqual([properties.contentType, properties.metadata], ['text/x', { a: '1' }])
      assert.equal(properties.copyId, undefined)
      assert.equal(await contentOf('put'), TEXT)
    })

    test('copies, replaces or drops the headers of the source', async () => {
      const typeAfter = async (headers: Headers) => {
        assert.equal(
          outcome(await sendFrom('put-headers', source(), { ...BLOCK_BLOB, ...headers })),
          '201',
        )
        const blob = container.getBlobClient('put-headers')
        const { contentType, contentDisposition } = await blob.getProperties()
        return [contentType, contentDisposition]
      }
      const inline = { 'x-ms-blob-content-disposition': 'inline' }
      assert.deepEqual(await typeAfter(inline), ['text/x', 'inline'])
      assert.deepEqual(await typeAfter({ 'x-ms-blob-content-type': 'a/b' }), ['a/b', undefined])
      const none = { ...inline, 'x-ms-copy-source-blob-properties': 'false' }
      assert.deepEqual(await typeAfter(none), ['application/octet-stream', 'inline'])
    })

    test('checks hashes', async () => {
      // prettier-ignore
      const rows: readonly (readonly [Headers, string])[] = [
        [{ 'x-ms-source-content-md5': md5Of(TEXT) }, '201'],
        [{ 'x-ms-source-content-md5': md5Of('x') }, '400 Md5Mismatch'],
        [{ 'x-ms-source-content-crc64': crc64Of(TEXT) }, '201'],
        [{ 'x-ms-source-content-crc64': crc64Of('x') }, '400 Crc64Mismatch'],
        [{ 'content-md5': md5Of(TEXT) }, '201'],
        [{ 'content-md5': md5Of('x') }, '400 Md5Mismatch'],
        [{ 'x-ms-blob-content-md5': md5Of('x') }, '400 Md5Mismatch'],
      ]
      for (const [headers, expected] of rows) {
        const sent = sendFrom('put-hash', source(), { ...BLOCK_BLOB, ...headers })
        assert.equal(outcome(await sent), expected, JSON.stringify(headers))
      }
    })

    test('checks conditions of source and destination, and any lease of the destination', async () => {
      const client = container.getBlockBlobClient('put-guarded')
      await client.upload('old', 3)
      const over = async (headers: Headers) =>
        outcome(await sendFrom('put-guarded', source(), { ...BLOCK_BLOB, ...headers }))
      assert.equal(await over({ 'x-ms-source-if-match': '"0x1"' }), '412 CannotVerifyCopySource')
      const later = { 'x-ms-source-if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' }
      assert.equal(await over(later), '304 CannotVerifyCopySource')
      assert.equal(await over({ 'if-none-match': '*' }), '409 BlobAlreadyExists')
      // The source is read before the destination is checked.
      const wrong = { 'if-none-match': '*', 'x-ms-source-content-md5': md5Of('x') }
      assert.equal(await over(wrong), '400 Md5Mismatch')
      assert.equal(await over({ 'if-match': '"0x1"' }), '412 TargetConditionNotMet')
      const { leaseId = '' } = await client.getBlobLeaseClient().acquireLease(15)
      assert.equal(await over({}), '412 LeaseIdMissing')
      assert.equal(await over({ 'if-none-match': '*' }), '412 LeaseIdMissing')
      assert.equal(await over({ 'x-ms-lease-id': leaseId }), '201')
      assert.equal(await over({ 'x-ms-lease-id': leaseId, 'if-none-match': '*' }), '201')
      server.advance(16_000)
    })
  })
}

describe('both operations:', () => {
  test('copy the tags of the source with the option COPY', async () => {
    for (const [kind, headers] of Object.entries({ sync: SYNC, put: BLOCK_BLOB })) {
      const option = { ...headers, 'x-ms-copy-source-tag-option': 'COPY' }
      await sendFrom(`tags-${kind}`, urlOf('source'), option)
      const { tags } = await container.getBlobClient(`tags-${kind}`).getTags()
      assert.deepEqual(tags, { from: 'source' })
      const both = sendFrom('tags-both', urlOf('source'), { ...option, 'x-ms-tags': 'a=b' })
      const code = '400 BothUserTagsAndSourceTagsCopyPresentException'
      assert.equal(outcome(await both), code)
    }
  })

  test('Copy keeps the block list, Put does not', async () => {
    const source = container.getBlockBlobClient('blocks')
    const id = Buffer.from('a').toString('base64')
    await source.stageBlock(id, 'block', 5)
    await source.commitBlockList([id])
    const blocksOf = async (name: string) => {
      const list = await container.getBlockBlobClient(name).getBlockList('committed')
      return list.committedBlocks?.length ?? 0
    }
    await sendFrom('blocks-sync', source.url, SYNC)
    assert.equal(await blocksOf('blocks-sync'), 1)
    await sendFrom('blocks-put', source.url, BLOCK_BLOB)
    assert.equal(await blocksOf('blocks-put'), 0)
    assert.equal(await contentOf('blocks-put'), 'block')
  })

  test('Put copies the bytes of other blob types, Copy refuses them', async () => {
    const append = container.getAppendBlobClient('append')
    await append.create()
    await append.appendBlock('log', 3)
    assert.equal(outcome(await sendFrom('x', append.url, SYNC)), '409 InvalidSourceBlobType')
    assert.equal(outcome(await sendFrom('append-put', append.url, BLOCK_BLOB)), '201')
    assert.equal(await contentOf('append-put'), 'log')
    const { blobType } = await container.getBlobClient('append-put').getProperties()
    assert.equal(blobType, 'BlockBlob')
  })

  test('Copy is limited to 256 MiB, Put to 5,000 MiB', async () => {
    const long = (lengthBytes: number) => (res: Parameters<ReturnType<typeof file>>[0]) => {
      res.writeHead(200, { 'content-length': lengthBytes })
      res.flushHeaders()
    }
    web.answer('/257', long(256 * MIB + 1))
    web.answer('/5001', long(5_000 * MIB + 1))
    for (const [path, headers, limit] of [
      ['257', SYNC, 256],
      ['5001', BLOCK_BLOB, 5_000],
    ] as const) {
      const { status, text } = await sendFrom('long', `${web.origin}/${path}`, headers)
      assert.equal(status, 409)
      assert.match(text, /<Code>CannotVerifyCopySource</)
      assert.ok(text.includes(`exceeds the maximum permissible limit (${limit}MB)`))
    }
  })

  test('copy an empty blob', async () => {
    await container.getBlockBlobClient('empty').upload('', 0)
    assert.equal(outcome(await sendFrom('empty-sync', urlOf('empty'), SYNC)), '202')
    assert.equal(outcome(await sendFrom('empty-put', urlOf('empty'), BLOCK_BLOB)), '201')
    assert.equal(await contentOf('empty-put'), '')
  })

  test('refuse a source that is missing, archived or not permitted', async () => {
    await container.getBlockBlobClient('archived').upload('x', 1, { tier: 'Archive' })
    for (const headers of [SYNC, BLOCK_BLOB]) {
      const from = async (url: string) => outcome(await sendFrom('x', url, headers))
      assert.equal(await from(urlOf('nothing')), '404 CannotVerifyCopySource')
      assert.equal(await from(`${web.origin}/nothing`), '404 CannotVerifyCopySource')
      assert.equal(await from(urlOf('archived')), '409 CannotVerifyCopySource')
    }
  })

  test('Put creates only block blobs and has no body', async () => {
    const page = { 'x-ms-blob-type': 'PageBlob' }
    assert.equal(outcome(await sendFrom('x', urlOf('source'), page)), '400 InvalidHeaderValue')
    const { status } = await send(
      'PUT',
      '/box/x',
      { ...BLOCK_BLOB, 'x-ms-copy-source': urlOf('source') },
      'x',
    )
    assert.equal(status, 413)
  })

  test('send the token of the source to the other server', async () => {
    web.answer('/token', file(Buffer.from(TEXT)))
    const headers = { ...BLOCK_BLOB, 'x-ms-copy-source-authorization': 'Bearer a.b.c' }
    assert.equal(outcome(await sendFrom('token', `${web.origin}/token`, headers)), '201')
    const request = web.requests.findLast(({ path }) => path === '/token')
    assert.equal(request?.headers.authorization, 'Bearer a.b.c')
  })
})
