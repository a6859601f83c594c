// Put Range from URL: copies bytes of a file or blob of this server, or of another permitted server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { FileSASPermissions, type ShareFileClient } from '@azure/storage-file-share'
import { crc64Of } from '../../src/extent/hash/hash.ts'
import { assertRefused, type Headers } from '../harness.ts'
import { file as served } from '../source-server.ts'
import { startFileCopyFixture } from './fixture.ts'

const MIB = 2 ** 20
const TEXT = 'The quick brown fox jumps over the lazy dog'

const { web, server, share, send } = await startFileCopyFixture()
let count = 0

const source = share.rootDirectoryClient.getFileClient('source')
await source.create(1_000)
await source.uploadRange(TEXT, 0, TEXT.length)
const blobs = BlobServiceClient.fromConnectionString(server.connectionString)
const { containerClient } = await blobs.createContainer('box')
await containerClient.getBlockBlobClient('source').upload(TEXT, TEXT.length)
web.answer('/source', served(Buffer.from(TEXT)))

async function newFile(lengthBytes: number): Promise<ShareFileClient> {
  const file = share.rootDirectoryClient.getFileClient(`file-${(count += 1)}`)
  await file.create(lengthBytes)
  return file
}

/** Copies bytes 4-8 ('quick') of the source to 10-14 of the file. */
function put(file: ShareFileClient, url: string, headers: Headers = {}) {
  const all = {
    'x-ms-write': 'update',
    'x-ms-range': 'bytes=10-14',
    'x-ms-source-range': 'bytes=4-8',
    'x-ms-copy-source': url,
    ...headers,
  }
  return send('PUT', `/box/${file.path}?comp=range`, all, '')
}

async function sasUrl(file: ShareFileClient, permissions = 'r'): Promise<string> {
  const expiresOn = new Date(server.now() + 3_600_000)
  return file.generateSasUrl({ permissions: FileSASPermissions.parse(permissions), expiresOn })
}

const blobUrl = () => `${server.blobEndpoint}/box/source`

// prettier-ignore
const SOURCES: readonly [what: string, url: () => string | Promise<string>][] = [
  ['a file of the same account',          () => source.url],
  ['a file with a SAS',                   () => sasUrl(source)],
  ['a file by its Azure host name',       () => 'https://devstoreaccount1.file.core.windows.net/box/source'],
  ['a blob',                              blobUrl],
  ['another server',                      () => `${web.origin}/source`],
]
for (const [what, url] of SOURCES) {
  test(`from ${what}`, async () => {
    const file = await newFile(20)
    server.advance(5_000)
    const { status, headers, text } = await put(file, await url())
    assert.equal(status, 201, text)
    const bytes = await file.downloadToBuffer()
    assert.equal(bytes.toString('latin1'), `${'\0'.repeat(10)}quick${'\0'.repeat(5)}`)
    assert.equal(headers['x-ms-content-crc64'], crc64Of(Buffer.from('quick')))
    assert.equal(headers['x-ms-request-server-encrypted'], 'false')
    const properties = await file.getProperties()
    assert.equal(headers.etag, properties.etag)
    assert.equal(headers['last-modified'], properties.lastModified?.toUTCString())
    const at = new Date(server.now()).toISOString().replace('Z', '0000Z')
    assert.equal(headers['x-ms-file-last-write-time'], at)
  })
}

test('holes of the source are copied as zeros', async () => {
  const file = await newFile(20)
  await file.uploadRange('x'.repeat(20), 0, 20)
  await put(file, source.url, { 'x-ms-source-range': 'bytes=500-504' })
  const bytes = await file.downloadToBuffer()
  assert.equal(bytes.toString('latin1'), `${'x'.repeat(10)}\0\0\0\0\0${'x'.repeat(5)}`)
})

test('the source can be a snapshot, and the range 4 MiB', async () => {
  const large = await newFile(5 * MIB)
  await large.uploadRange(Buffer.alloc(4 * MIB, 'a'), 0, 4 * MIB)
  const { snapshot = '' } = await share.createSnapshot()
  await large.uploadRange('b', 0, 1)
  const file = await newFile(4 * MIB)
  const url = `${large.url}?sharesnapshot=${encodeURIComponent(snapshot)}`
  await file.uploadRangeFromURL(url, 0, 0, 4 * MIB)
  assert(Buffer.alloc(4 * MIB, 'a').equals(await file.downloadToBuffer()))
})

test('the whole source is copied without a source range', async () => {
  const file = await newFile(TEXT.length)
  const range = { 'x-ms-range': `bytes=0-${TEXT.length - 1}`, 'x-ms-source-range': '' }
  assert.equal((await put(file, blobUrl(), range)).status, 201)
  assert.equal((await file.downloadToBuffer()).toString(), TEXT)
  const shorter = { 'x-ms-range': 'bytes=0-4', 'x-ms-source-range': '' }
  await assertRefused(put(file, blobUrl(), shorter), 400, 'InvalidHeaderValue')
})

test('the last write time is kept on request', async () => {
  const file = await newFile(20)
  const before = await file.getProperties()
  server.advance(5_000)
  await put(file, source.url, { 'x-ms-file-last-write-time': 'Preserve' })
  const { fileLastWriteOn } = await file.getProperties()
  assert.deepEqual(fileLastWriteOn, before.fileLastWriteOn)
})

describe('hashes of the source:', () => {
  const [right, wrong] = [crc64Of(Buffer.from('quick')), crc64Of(Buffer.from('slow'))]
  // prettier-ignore
  const CHECKS: readonly [header: string, crc64: string, outcome: string][] = [
    ['x-ms-source-content-crc64',       right, '201 undefined'],
    ['x-ms-source-content-crc64',       wrong, '400 Crc64Mismatch'],
    ['x-ms-source-if-match-crc64',      right, '201 undefined'],
    ['x-ms-source-if-match-crc64',      wrong, '412 SourceConditionNotMet'],
    ['x-ms-source-if-none-match-crc64', wrong, '201 undefined'],
    ['x-ms-source-if-none-match-crc64', right, '412 SourceConditionNotMet'],
    ['x-ms-source-if-match-crc64',      'x',   '400 InvalidHeaderValue'],
  ]
  for (const [header, crc64, outcome] of CHECKS) {
    test(`${header}: ${crc64} → ${outcome}`, async () => {
      const file = await newFile(20)
      const { status, headers } = await put(file, source.url, { [header]: crc64 })
      assert.equal(`${status} ${headers['x-ms-error-code']}`, outcome)
      const { rangeList = [] } = await file.getRangeList()
      assert.equal(rangeList.length, status === 201 ? 1 : 0)
    })
  }
})

describe('Put Range from URL is refused:', () => {
  const secret = async () => {
    const file = await newFile(10)
    return `${file.url}?sv=2024-11-04&sr=f&sp=r&se=2099-01-01T00%3A00%3A00Z&sig=AAAA`
  }
  // prettier-ignore
  const REFUSED: readonly [what: string, url: () => string | Promise<string>, headers: Headers, status: number, code: string][] = [
    ['a missing file',            () => `${server.fileEndpoint}/box/none`,  {}, 404, 'CannotVerifyCopySource'],
    ['a missing share',         () => `${server.fileEndpoint}/none/file`, {}, 404, 'CannotVerifyCopySource'],
    ['a missing blob',          () => `${server.blobEndpoint}/box/none`,  {}, 404, 'CannotVerifyCopySource'],
    ['a wrong SAS',             secret,                                   {}, 403, 'CannotVerifyCopySource'],
    ['a SAS that cannot read',  () => sasUrl(source, 'w'),                {}, 403, 'CannotVerifyCopySource'],
    ['a range after its end',   () => source.url, { 'x-ms-source-range': 'bytes=1000-1004' }, 416, 'CannotVerifyCopySource'],
    ['an unpermitted server',   () => 'http://127.0.0.1:1/x',             {}, 403, 'CannotVerifyCopySource'],
    ['a queue',                 () => `${server.queueEndpoint}/box`,      {}, 403, 'CannotVerifyCopySource'],
    ['an invalid URL',          () => 'source',                           {}, 400, 'InvalidHeaderValue'],
    ['another length',          () => source.url, { 'x-ms-source-range': 'bytes=4-9' }, 400, 'InvalidHeaderValue'],
    ['a range after the file',  () => source.url, { 'x-ms-range': 'bytes=16-20' }, 416, 'InvalidRange'],
    ['no range',                () => source.url, { 'x-ms-range': '' },        400, 'MissingRequiredHeader'],
    ['more than 4 MiB',         () => source.url, { 'x-ms-range': `bytes=0-${4 * MIB}`, 'x-ms-source-range': `bytes=0-${4 * MIB}` }, 413, 'RequestBodyTooLarge'],
    ['clear',                   () => source.url, { 'x-ms-write': 'clear' },   400, 'InvalidHeaderValue'],
    ['a condition',             () => source.url, { 'if-match': '*' },         400, 'ConditionHeadersNotSupported'],
  ]
  for (const [what, url, headers, status, code] of REFUSED) {
    test(what, async () => {
      const file = await newFile(20)
      await assertRefused(put(file, await url(), headers), status, code)
      assert.deepEqual((await file.getRangeList()).rangeList, [])
    })
  }

  test('a missing destination', async () => {
    const missing = share.rootDirectoryClient.getFileClient('missing')
    await assertRefused(put(missing, source.url), 404, 'ResourceNotFound')
  })
})
