// Get File: a whole file or a range, with all headers, of the current file and of a share snapshot.
import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { FileSASPermissions } from '@azure/storage-file-share'
import { assertRefused, md5Of, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'

const MIB = 2 ** 20

const box = await startFileFixture()
const { share } = box

await box.send('PUT', '/box/file', {
  'x-ms-type': 'file',
  'x-ms-content-length': '1000',
  'x-ms-content-type': 'text/plain',
  'x-ms-content-encoding': 'br',
  'x-ms-content-language': 'de',
  'x-ms-cache-control': 'no-cache',
  'x-ms-content-disposition': 'inline',
  'x-ms-content-md5': md5Of(''),
  'x-ms-meta-Color': 'blue',
})
const range = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=100-104' }
await box.send('PUT', '/box/file?comp=range', range, 'hello')

const get = (path: string, headers: Headers = {}) => box.send('GET', path, headers)

test('Get File returns the whole file with all headers', async () => {
  const { status, headers, body } = await get('/box/file')
  assert.equal(status, 200)
  const expected = Buffer.alloc(1_000)
  expected.write('hello', 100)
  assert.deepEqual(body, expected)
  // prettier-ignore
  const same = ['etag', 'last-modified', 'x-ms-file-permission-key', 'x-ms-file-attributes', 'x-ms-file-creation-time',
    'x-ms-file-last-write-time', 'x-ms-file-change-time', 'x-ms-file-id', 'x-ms-file-parent-id', 'content-length',
    'content-type', 'content-encoding', 'content-language', 'cache-control', 'content-disposition', 'content-md5',
    'x-ms-meta-color', 'x-ms-lease-status', 'x-ms-lease-state', 'x-ms-type', 'x-ms-server-encrypted']
  const properties = (await box.send('HEAD', '/box/file')).headers
  for (const name of same) {
    assert(headers[name] !== undefined, name)
    assert.equal(headers[name], properties[name], name)
  }
  assert.equal(headers['accept-ranges'], 'bytes')
  assert.equal(headers['content-range'], undefined)
})

describe('a range:', () => {
  // prettier-ignore
  const PARTS: readonly [headers: Headers, from: number, to: number][] = [
    [{ 'x-ms-range': 'bytes=100-104' },                        100, 105],
    [{ range: 'bytes=100-104' },                               100, 105],
    [{ 'x-ms-range': 'bytes=98-106', range: 'bytes=0-0' },     98,  107],
    [{ range: 'bytes=990-' },                                  990, 1000],
    [{ range: 'bytes=990-5000' },                              990, 1000],
    [{ range: 'bytes=0-999' },                                 0,   1000],
  ]
  for (const [headers, from, to] of PARTS) {
    test(JSON.stringify(headers), async () => {
      const whole = (await get('/box/file')).body
      const answer = await get('/box/file', headers)
      assert.equal(answer.status, 206)
      assert.equal(answer.headers['content-range'], `bytes ${from}-${to - 1}/1000`)
      assert.equal(answer.headers['content-length'], String(to - from))
      assert.deepEqual(answer.body, whole.subarray(from, to))
      assert.equal(answer.headers['content-md5'], undefined)
      assert.equal(answer.headers['x-ms-content-md5'], md5Of(''))
    })
  }

  test('is returned with its MD5', async () => {
    const sent = { range: 'bytes=100-104', 'x-ms-range-get-content-md5': 'true' }
    const { headers } = await get('/box/file', sent)
    assert.equal(headers['content-md5'], md5Of('hello'))
  })

  // prettier-ignore
  const REFUSED: readonly [path: string, headers: Headers, status: number, code: string][] = [
    ['/box/file',   { range: 'bytes=1000-' },                      416, 'InvalidRange'],
    ['/box/file',   { 'x-ms-range': 'bytes=5-1' },                 400, 'InvalidHeaderValue'],
    ['/box/file',   { 'x-ms-range-get-content-md5': 'true' },      400, 'InvalidHeaderValue'],
    ['/box/large',  { 'x-ms-range-get-content-md5': 'true', range: `bytes=0-${4 * MIB}` }, 400, 'InvalidHeaderValue'],
    ['/box/file',   { 'if-none-match': '*' },                      400, 'ConditionHeadersNotSupported'],
    ['/box/file',   { 'x-ms-lease-id': 'x' },                      400, 'InvalidHeaderValue'],
    ['/box/none',   {},                                            404, 'ResourceNotFound'],
    ['/box/no/ne',  {},                                            404, 'ParentNotFound'],
    ['/none/file',  {},                                            404, 'ShareNotFound'],
    ['/box/folder', {},                                            409, 'ResourceTypeMismatch'],
    ['/box/file?sharesnapshot=2024-01-01T00:00:00.0000000Z', {},   404, 'ShareSnapshotNotFound'],
    ['/box/file?sharesnapshot=yesterday', {},                      400, 'InvalidQueryParameterValue'],
  ]
  for (const [path, headers, status, code] of REFUSED) {
    test(`${path} ${JSON.stringify(headers)} → ${status} ${code}`, async () => {
      await share.getDirectoryClient('folder').createIfNotExists()
      await share.rootDirectoryClient.getFileClient('large').create(8 * MIB)
      await assertRefused(get(path, headers), status, code)
    })
  }
})

test('an empty file is returned without bytes', async () => {
  await share.rootDirectoryClient.getFileClient('empty').create(0)
  const { status, body, headers } = await get('/box/empty')
  assert.deepEqual([status, body.length, headers['content-length']], [200, 0, '0'])
  assert.equal(headers['content-type'], 'application/octet-stream')
  await assertRefused(get('/box/empty', { range: 'bytes=0-0' }), 416, 'InvalidRange')
})

test('a structured body is returned on request, and the SDK verifies its checksums', async () => {
  const file = share.rootDirectoryClient.getFileClient('structured')
  const bytes = Buffer.alloc(100_000, 'structured')
  await file.create(bytes.length)
  await file.uploadRange(bytes, 0, bytes.length)
  const sent = { 'x-ms-structured-body': 'XSM/1.0; properties=crc64', range: 'bytes=10-99' }
  const answer = await get('/box/structured', sent)
  assert.equal(answer.headers['x-ms-structured-content-length'], '90')
  assert.equal(answer.headers['x-ms-structured-body'], 'XSM/1.0; properties=crc64')
  assert.equal(Number(answer.headers['content-length']), answer.body.length)
  assert(answer.body.includes(bytes.subarray(10, 100)))
  const checked = { contentChecksumAlgorithm: 'StorageCrc64' } as const
  const { readableStreamBody } = await file.download(0, undefined, checked)
  assert(readableStreamBody !== undefined)
  assert.deepEqual(await buffer(readableStreamBody), bytes)
})

test('a SAS can override response headers', async () => {
  const file = share.rootDirectoryClient.getFileClient('file')
  const url = await file.generateSasUrl({
    permissions: FileSASPermissions.parse('r'),
    expiresOn: new Date(box.server.now() + 3_600_000),
    cacheControl: 'public',
    contentDisposition: 'attachment',
    contentEncoding: 'gzip',
    contentLanguage: 'fr',
    contentType: 'text/css',
  })
  const sas = new URL(url).search
  const { status, headers } = await box.send('GET', '/box/file', {}, undefined, sas)
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'public')
  assert.equal(headers['content-disposition'], 'attachment')
  assert.equal(headers['content-encoding'], 'gzip')
  assert.equal(headers['content-language'], 'fr')
  assert.equal(headers['content-type'], 'text/css')
})

test('a snapshot keeps its bytes, whatever happens to the file', async () => {
  const file = share.rootDirectoryClient.getFileClient('kept')
  const send = (body: Buffer, at: number) => file.uploadRange(body, at, body.length)
  const states: [snapshot: string, bytes: Buffer][] = []
  await file.create(20_000)
  for (const [letter, at, length] of [
    ['a', 0, 20_000],
    ['b', 500, 9_000],
    ['c', 19_000, 10],
  ] as const) {
    await send(Buffer.alloc(length, letter), at)
    states.push([await box.snapshotShare('box'), await file.downloadToBuffer()])
  }
  await file.clearRange(0, 20_000)
  await file.resize(100)
  states.push([await box.snapshotShare('box'), Buffer.alloc(100)])
  await file.delete()
  await box.server.store.sweep({ graceMs: 0 })
  for (const [snapshot, bytes] of states) {
    const { status, body } = await get(`/box/kept?sharesnapshot=${encodeURIComponent(snapshot)}`)
    assert.equal(status, 200)
    assert(body.equals(bytes))
  }
  await assertRefused(get('/box/kept'), 404, 'ResourceNotFound')
})

test('holes of a file of 4 TiB are zeros that use no space', async () => {
  const file = share.rootDirectoryClient.getFileClient('huge')
  await file.create(4 * 2 ** 40)
  await file.uploadRange('end', 4 * 2 ** 40 - 3, 3)
  const at = 4 * 2 ** 40 - 10
  assert.equal((await file.downloadToBuffer(at, 10)).toString(), '\0\0\0\0\0\0\0end')
})
