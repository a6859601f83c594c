// Put Range and Clear Range: the bytes that change, the responses, and all errors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc64Of } from '../../src/extent/hash/hash.ts'
import { assertRefused, md5Of, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'

const MIB = 2 ** 20

const box = await startFileFixture()
const { share } = box
let count = 0

/** Creates a file of this length; returns its path. */
async function newFile(lengthBytes: number, headers: Headers = {}): Promise<string> {
  const path = `/box/file-${(count += 1)}`
  const type = { 'x-ms-type': 'file', 'x-ms-content-length': String(lengthBytes) }
  const answer = await box.send('PUT', path, { ...type, ...headers })
  assert.equal(answer.status, 201, answer.text)
  return path
}

function put(path: string, range: string, body: string | Uint8Array, headers: Headers = {}) {
  const sent = { 'x-ms-write': 'update', 'x-ms-range': `bytes=${range}`, ...headers }
  return box.send('PUT', `${path}?comp=range`, sent, body)
}

const clear = (path: string, range: string, headers: Headers = {}) =>
  put(path, range, '', { 'x-ms-write': 'clear', ...headers })

async function bytesOf(path: string): Promise<Buffer> {
  const answer = await box.send('GET', path)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

async function headersOf(path: string) {
  return (await box.send('HEAD', path)).headers
}

describe('Put Range', () => {
  test('writes any bytes at any offset and keeps the rest', async () => {
    const path = await newFile(20)
    assert.equal((await put(path, '3-7', 'hello')).status, 201)
    assert.equal((await put(path, '7-9', 'xyz')).status, 201)
    const expected = Buffer.alloc(20)
    expected.write('hellxyz', 3)
    assert.deepEqual(await bytesOf(path), expected)
  })

  test('returns validators, MD5, encryption and the last write time', async () => {
    const path = await newFile(5)
    const before = await headersOf(path)
    box.server.advance(5_000)
    const { headers } = await put(path, '0-4', 'hello', { 'content-md5': md5Of('hello') })
    assert.notEqual(headers.etag, before.etag)
    assert.equal(headers['last-modified'], new Date(box.server.now()).toUTCString())
    assert.equal(headers['content-md5'], md5Of('hello'))
    assert.equal(headers['x-ms-request-server-encrypted'], 'false')
    const at = new Date(box.server.now()).toISOString().replace('Z', '0000Z')
    assert.equal(headers['x-ms-file-last-write-time'], at)
    const now = await headersOf(path)
    assert.equal(now.etag, headers.etag)
    assert.equal(now['x-ms-file-last-write-time'], at)
    assert.equal(now['x-ms-file-change-time'], at)
    assert.equal(now['x-ms-file-creation-time'], before['x-ms-file-creation-time'])
    assert.equal(now['content-md5'], undefined)
  })

  test('returns the MD5 even if none was sent', async () => {
    assert.equal((await put(await newFile(2), '0-1', 'hi')).headers['content-md5'], md5Of('hi'))
  })

  test('sets the Archive attribute', async () => {
    const restored = { 'x-ms-file-attributes': 'Hidden', 'x-ms-file-property-semantics': 'Restore' }
    const path = await newFile(1, restored)
    assert.equal((await headersOf(path))['x-ms-file-attributes'], 'Hidden')
    await put(path, '0-0', 'x')
    assert.equal((await headersOf(path))['x-ms-file-attributes'], 'Hidden | Archive')
  })

  for (const [sent, isKept] of [
    ['preserve', true],
    ['Preserve', true],
    ['now', false],
    ['Now', false],
  ] as const) {
    test(`x-ms-file-last-write-time: ${sent}`, async () => {
      const path = await newFile(1)
      const before = await headersOf(path)
      box.server.advance(5_000)
      const { headers } = await put(path, '0-0', 'x', { 'x-ms-file-last-write-time': sent })
      const name = 'x-ms-file-last-write-time'
      assert.equal(headers[name] === before[name], isKept)
      assert.equal((await headersOf(path))[name], headers[name])
    })
  }

  for (const lengthBytes of [1, 511, 8 * 1024, 8 * 1024 + 1, MIB, 4 * MIB]) {
    test(`writes ${lengthBytes} bytes at once`, async () => {
      const path = await newFile(5 * MIB)
      const bytes = Buffer.alloc(lengthBytes, 'lazuli')
      assert.equal((await put(path, `100-${99 + lengthBytes}`, bytes)).status, 201)
      const all = await bytesOf(path)
      assert(all.subarray(100, 100 + lengthBytes).equals(bytes))
      assert.equal(all.subarray(0, 100).compare(Buffer.alloc(100)), 0)
    })
  }

  test('uses Range without x-ms-range, and prefers x-ms-range', async () => {
    const path = await newFile(4)
    const plain = { 'x-ms-write': 'update', range: 'bytes=0-0' }
    assert.equal((await box.send('PUT', `${path}?comp=range`, plain, 'a')).status, 201)
    assert.equal((await put(path, '2-2', 'c', { range: 'bytes=3-3' })).status, 201)
    assert.equal((await bytesOf(path)).toString(), 'a\0c\0')
  })

  test('accepts a structured body', async () => {
    const file = share.rootDirectoryClient.getFileClient('structured')
    await file.create(6)
    await file.uploadRange('abcdef', 0, 6, { contentChecksumAlgorithm: 'StorageCrc64' })
    assert.equal((await file.downloadToBuffer()).toString(), 'abcdef')
  })

  test('checks and returns a CRC64', async () => {
    const path = await newFile(2)
    const crc64 = crc64Of(Buffer.from('hi'))
    const { status, headers } = await put(path, '0-1', 'hi', { 'x-ms-content-crc64': crc64 })
    assert.deepEqual([status, headers['x-ms-content-crc64']], [201, crc64])
    const other = crc64Of(Buffer.from('ho'))
    const wrong = put(path, '0-1', 'hi', { 'x-ms-content-crc64': other })
    await assertRefused(wrong, 400, 'Crc64Mismatch')
  })
})

describe('Put Range is refused:', () => {
  // prettier-ignore
  const REFUSED: readonly [what: string, range: string, body: string, headers: Headers, status: number, code: string][] = [
    ['a range across the end',   '8-10',    'abc',   {}, 416, 'InvalidRange'],
    ['a range after the end',        '100-102', 'abc',   {}, 416, 'InvalidRange'],
    ['an open range',            '0-',      'abc',   {}, 400, 'InvalidHeaderValue'],
    ['a reversed range',        '3-1',     'abc',   {}, 400, 'InvalidHeaderValue'],
    ['a shorter body',   '0-4',     'abc',   {}, 400, 'InvalidHeaderValue'],
    ['a longer body',    '0-1',     'abc',   {}, 400, 'InvalidHeaderValue'],
    ['another MD5',              '0-2',     'abc',   { 'content-md5': md5Of('x') }, 400, 'Md5Mismatch'],
    ['a malformed MD5',           '0-2',     'abc',   { 'content-md5': 'x' }, 400, 'InvalidMd5'],
    ['an unknown x-ms-write',   '0-2',     'abc',   { 'x-ms-write': 'append' }, 400, 'InvalidHeaderValue'],
    ['an invalid last write time',  '0-2',     'abc',   { 'x-ms-file-last-write-time': 'later' }, 400, 'InvalidHeaderValue'],
    ['a condition',              '0-2',     'abc',   { 'if-match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['a date condition',         '0-2',     'abc',   { 'if-modified-since': new Date(0).toUTCString() }, 400, 'ConditionHeadersNotSupported'],
    ['a lease id without a lease',     '0-2',     'abc',   { 'x-ms-lease-id': '11111111-aaaa-4aaa-8aaa-111111111111' }, 412, 'LeaseNotPresentWithFileOperation'],
  ]
  for (const [what, range, body, headers, status, code] of REFUSED) {
    test(what, async () => {
      const path = await newFile(10)
      await put(path, '0-9', 'unchanged!')
      const before = await headersOf(path)
      await assertRefused(put(path, range, body, headers), status, code)
      assert.equal((await headersOf(path)).etag, before.etag)
      assert.equal((await bytesOf(path)).toString(), 'unchanged!')
    })
  }

  test('missing headers', async () => {
    const path = await newFile(10)
    const none = box.send('PUT', `${path}?comp=range`, { 'x-ms-write': 'update' }, 'x')
    await assertRefused(none, 400, 'MissingRequiredHeader')
    const range = { 'x-ms-range': 'bytes=0-0' }
    await assertRefused(
      box.send('PUT', `${path}?comp=range`, range, 'x'),
      400,
      'MissingRequiredHeader',
    )
  })

  test('more than 4 MiB', async () => {
    const path = await newFile(8 * MIB)
    const sent = put(path, `0-${4 * MIB}`, Buffer.alloc(4 * MIB + 1))
    await assertRefused(sent, 413, 'RequestBodyTooLarge')
  })

  // prettier-ignore
  const NOT_THERE: readonly [path: string, status: number, code: string][] = [
    ['/none/file',      404, 'ShareNotFound'],
    ['/box/none/file',  404, 'ParentNotFound'],
    ['/box/none',       404, 'ResourceNotFound'],
    ['/box/folder',     409, 'ResourceTypeMismatch'],
  ]
  for (const [path, status, code] of NOT_THERE) {
    test(`${path} does not exist`, async () => {
      await share.getDirectoryClient('folder').createIfNotExists()
      await assertRefused(put(path, '0-0', 'x'), status, code)
      await assertRefused(put(path, '0-9999', 'x'.repeat(10_000)), status, code)
    })
  }

  test('a ReadOnly file and a share snapshot', async () => {
    const path = await newFile(1, { 'x-ms-file-attributes': 'ReadOnly' })
    await assertRefused(put(path, '0-0', 'x'), 409, 'ReadOnlyAttribute')
    await assertRefused(clear(path, '0-0'), 409, 'ReadOnlyAttribute')
    const snapshot = await box.snapshotShare('box')
    const sent = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-0' }
    const at = `${path}?comp=range&sharesnapshot=${encodeURIComponent(snapshot)}`
    await assertRefused(box.send('PUT', at, sent, 'x'), 400, 'InvalidQueryParameterValue')
  })
})

describe('Clear Range', () => {
  // The ranges listed afterwards, of 2,048 written bytes.
  // prettier-ignore
  const CLEARED: readonly [range: string, listed: readonly (readonly [number, number])[]][] = [
    ['0-2047',    []],
    ['512-1023',  [[0, 511], [1024, 2047]]],
    ['0-511',     [[512, 2047]]],
    ['100-1499',  [[0, 511], [1024, 2047]]],
    ['511-1024',  [[0, 511], [1024, 2047]]],
    ['512-1535',  [[0, 511], [1536, 2047]]],
    ['600-700',   [[0, 2047]]],
    ['500-600',   [[0, 2047]]],
    ['0-0',       [[0, 2047]]],
    ['2047-2047', [[0, 2047]]],
  ]
  for (const [range, listed] of CLEARED) {
    test(`of ${range} frees whole blocks and zeroes the rest`, async () => {
      const file = share.rootDirectoryClient.getFileClient(`cleared-${range}`)
      await file.create(2_048)
      await file.uploadRange('x'.repeat(2_048), 0, 2_048)
      const [from = 0, last = 0] = range.split('-').map(Number)
      const expected = Buffer.alloc(2_048, 'x').fill(0, from, last + 1)
      await file.clearRange(from, last + 1 - from)
      assert.deepEqual(await file.downloadToBuffer(), expected)
      const { rangeList } = await file.getRangeList()
      assert.deepEqual(
        rangeList,
        listed.map(([start, end]) => ({ start, end })),
      )
    })
  }

  test('of unwritten bytes marks its edges as written', async () => {
    const file = share.rootDirectoryClient.getFileClient('cleared-empty')
    await file.create(2_048)
    await file.clearRange(100, 1_400)
    const { rangeList } = await file.getRangeList()
    assert.deepEqual(rangeList, [
      { start: 100, end: 511 },
      { start: 1_024, end: 1_499 },
    ])
    assert.deepEqual(await file.downloadToBuffer(), Buffer.alloc(2_048))
  })

  test('is answered like Put Range, without hash and encryption', async () => {
    const path = await newFile(1_024)
    box.server.advance(5_000)
    const { status, headers } = await clear(path, '0-1023', {
      'x-ms-file-last-write-time': 'preserve',
    })
    assert.equal(status, 201)
    assert.equal(headers['content-md5'], undefined)
    assert.equal(headers['x-ms-request-server-encrypted'], undefined)
    const now = await headersOf(path)
    assert.deepEqual([headers.etag, headers['last-modified']], [now.etag, now['last-modified']])
    assert.equal(headers['x-ms-file-last-write-time'], now['x-ms-file-creation-time'])
  })

  test('can be as long as the file', async () => {
    const path = await newFile(2 ** 40)
    await put(path, `${2 ** 39}-${2 ** 39 + 3}`, 'here')
    assert.equal((await clear(path, `0-${2 ** 40 - 1}`)).status, 201)
    const part = await box.send('GET', path, { 'x-ms-range': `bytes=${2 ** 39}-${2 ** 39 + 3}` })
    assert.deepEqual(part.body, Buffer.alloc(4))
  })

  test('refuses a hash, a body and a range after the end', async () => {
    const path = await newFile(512)
    const md5 = { 'content-md5': md5Of('') }
    await assertRefused(clear(path, '0-511', md5), 400, 'UnsupportedHeader')
    await assertRefused(clear(path, '0-512'), 416, 'InvalidRange')
    const body = put(path, '0-0', 'x', { 'x-ms-write': 'clear' })
    await assertRefused(body, 413, 'RequestBodyTooLarge')
  })
})
