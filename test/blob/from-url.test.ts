// Put Block, Put Page and Append Block From URL, which copy parts of a source into a blob.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { md5Of, outcome, type Headers } from '../harness.ts'
import { file } from '../source-server.ts'
import { startCopyFixture } from './fixture.ts'

const { web, container, send } = await startCopyFixture()

const PAGES = Buffer.concat([Buffer.alloc(512, 1), Buffer.alloc(512, 2), Buffer.alloc(512, 3)])

await container.getBlockBlobClient('source').upload('0123456789', 10)
await container.getBlockBlobClient('pages').upload(PAGES, PAGES.length)
web.answer('/source', file(Buffer.from('0123456789')))
web.answer('/pages', file(PAGES))

const BLOCK_ID = Buffer.from('a').toString('base64')

const put = (path: string, headers: Headers) => send('PUT', path, headers)

const contentOf = async (name: string) =>
  (await container.getBlobClient(name).downloadToBuffer()).toString()

const PLACES: Readonly<Record<string, (name: string) => string>> = {
  'this server': (name) => container.getBlobClient(name).url,
  'another server': (name) => `${web.origin}/${name}`,
}

for (const [place, urlOf] of Object.entries(PLACES)) {
  describe(`from ${place}`, () => {
    test('Put Block From URL copies the whole source or a range', async () => {
      const client = container.getBlockBlobClient('blocks')
      const ids = ['a', 'b', 'c'].map((text) => Buffer.from(text).toString('base64'))
      await client.stageBlockFromURL(ids[0] ?? '', urlOf('source'))
      await client.stageBlockFromURL(ids[1] ?? '', urlOf('source'), 2, 3)
      await client.stageBlockFromURL(ids[2] ?? '', urlOf('source'), 8)
      await client.commitBlockList(ids)
      assert.equal(await contentOf('blocks'), '012345678923489')
    })

    test('Append Block From URL returns the offset of the block', async () => {
      const client = container.getAppendBlobClient('log')
      await client.create()
      const first = await client.appendBlockFromURL(urlOf('source'), 0, 4)
      assert.equal(first.blobAppendOffset, '0')
      const second = await client.appendBlockFromURL(urlOf('source'), 4, 2)
      assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ['4', 2])
      assert.equal(await contentOf('log'), '012345')
      const late = client.appendBlockFromURL(urlOf('source'), 0, 4, {
        conditions: { appendPosition: 0 },
      })
      await assert.rejects(late, { code: 'AppendPositionConditionNotMet' })
    })

    test('Put Page From URL copies pages', async () => {
      const client = container.getPageBlobClient('disk')
      await client.create(1536)
      const answer = await client.uploadPagesFromURL(urlOf('pages'), 512, 0, 1024)
      assert.equal(answer.blobSequenceNumber, 0)
      const bytes = await client.downloadToBuffer()
      assert.deepEqual([bytes[0], bytes[512], bytes[1024]], [2, 3, 0])
      const late = client.uploadPagesFromURL(urlOf('pages'), 0, 0, 512, {
        conditions: { ifSequenceNumberLessThan: 0 },
      })
      await assert.rejects(late, { code: 'SequenceNumberConditionNotMet' })
    })

    const OPERATIONS: Readonly<Record<string, readonly [string, Headers]>> = {
      'Put Block From URL': [`/box/blocks-2?comp=block&blockid=${BLOCK_ID}`, {}],
      'Append Block From URL': ['/box/log-2?comp=appendblock', {}],
      'Put Page From URL': [
        '/box/disk-2?comp=page',
        {
          'x-ms-page-write': 'update',
          'x-ms-range': 'bytes=0-511',
          'x-ms-source-range': 'bytes=0-511',
        },
      ],
    }
    for (const [name, [path, own]] of Object.entries(OPERATIONS)) {
      test(`${name} checks hashes, source conditions and missing sources`, async () => {
        await container.getAppendBlobClient('log-2').create()
        await container.getPageBlobClient('disk-2').create(512)
        const whole = md5Of(name.startsWith('Put Page') ? PAGES.subarray(0, 512) : PAGES)
        const sent = async (headers: Headers, source = 'pages') =>
          outcome(await put(path, { 'x-ms-copy-source': urlOf(source), ...own, ...headers }))
        // prettier-ignore
        const rows: readonly (readonly [Headers, string])[] = [
          [{ 'x-ms-source-content-md5': whole }, '201'],
          [{ 'x-ms-source-content-md5': md5Of('x') }, '400 Md5Mismatch'],
          [{ 'x-ms-source-content-crc64': 'AAAAAAAAAAA=' }, '400 Crc64Mismatch'],
          [{ 'x-ms-source-content-md5': whole, 'x-ms-source-content-crc64': 'AAAAAAAAAAA=' }, '400 BothCrc64AndMd5HeaderPresent'],
          [{ 'x-ms-source-if-match': '"0x1"' }, '412 CannotVerifyCopySource'],
          [{ 'x-ms-source-if-modified-since': 'Thu, 01 Jan 2099 00:00:00 GMT' }, '304 CannotVerifyCopySource'],
          [{ 'x-ms-source-if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }, '412 CannotVerifyCopySource'],
          [{ 'x-ms-source-range': 'lines=1-2' }, '400 InvalidHeaderValue'],
        ]
        for (const [headers, expected] of rows) {
          assert.equal(await sent(headers), expected, JSON.stringify(headers))
        }
        assert.equal(await sent({}, 'nothing'), '404 CannotVerifyCopySource')
        const answer = await put(path, { 'x-ms-copy-source': urlOf('pages'), ...own })
        assert.ok(answer.headers['x-ms-content-crc64'])
      })
    }
  })
}

describe('the operations refuse', () => {
  const source = (name = 'source') => ({ 'x-ms-copy-source': container.getBlobClient(name).url })

  test('a range after the end of the source', async () => {
    const path = `/box/b?comp=block&blockid=${BLOCK_ID}`
    const sent = put(path, { ...source(), 'x-ms-source-range': 'bytes=10-19' })
    assert.equal(outcome(await sent), '416 CannotVerifyCopySource')
  })

  test('pages without a source range, with one of another length, or too many', async () => {
    await container.getPageBlobClient('page').create(8 * 2 ** 20)
    const sent = async (headers: Headers) =>
      outcome(
        await put('/box/page?comp=page', {
          ...source('pages'),
          'x-ms-page-write': 'update',
          ...headers,
        }),
      )
    const one = { 'x-ms-range': 'bytes=0-511' }
    assert.equal(await sent(one), '400 MissingRequiredHeader')
    assert.equal(
      await sent({ ...one, 'x-ms-source-range': 'bytes=0-1023' }),
      '400 InvalidHeaderValue',
    )
    assert.equal(await sent({ 'x-ms-source-range': 'bytes=0-511' }), '400 MissingRequiredHeader')
    const unaligned = { 'x-ms-range': 'bytes=0-99', 'x-ms-source-range': 'bytes=0-99' }
    assert.equal(await sent(unaligned), '400 InvalidHeaderValue')
    const range = `bytes=0-${4 * 2 ** 20 + 511}`
    const long = { 'x-ms-range': range, 'x-ms-source-range': range }
    assert.equal(await sent(long), '413 RequestBodyTooLarge')
    const behind = {
      'x-ms-range': `bytes=${8 * 2 ** 20}-${8 * 2 ** 20 + 511}`,
      'x-ms-source-range': 'bytes=0-511',
    }
    assert.equal(await sent(behind), '416 InvalidPageRange')
  })

  test('a destination that is leased, of another type or missing', async () => {
    await container.getAppendBlobClient('held').create()
    await container.getBlobClient('held').getBlobLeaseClient().acquireLease(-1)
    const append = async (name: string) =>
      outcome(await put(`/box/${name}?comp=appendblock`, source()))
    assert.equal(await append('held'), '412 LeaseIdMissing')
    assert.equal(await append('source'), '409 InvalidBlobType')
    assert.equal(await append('nothing'), '404 BlobNotFound')
    const block = put(`/nobox/b?comp=block&blockid=${BLOCK_ID}`, source())
    assert.equal(outcome(await block), '404 ContainerNotFound')
  })

  test('conditions on a block', async () => {
    const path = `/box/b?comp=block&blockid=${BLOCK_ID}`
    const sent = put(path, { ...source(), 'if-match': '*' })
    assert.equal(outcome(await sent), '400 ConditionHeadersNotSupported')
  })

  test('an archived source', async () => {
    await container.getBlockBlobClient('archived').upload('x', 1, { tier: 'Archive' })
    const sent = put(`/box/b?comp=block&blockid=${BLOCK_ID}`, source('archived'))
    assert.equal(outcome(await sent), '409 CannotVerifyCopySource')
  })
})
