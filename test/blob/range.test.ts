// Ranges of a blob: their bytes, status, headers and hashes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { md5Of, xmlText, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const MIB = 1024 * 1024
const BODIES: Readonly<Record<string, Buffer>> = {
  small: Buffer.from('0123456789'),
  large: Buffer.from(Array.from({ length: 5 * MIB }, (_, i) => (i * 31 + (i >> 8)) & 0xff)),
  empty: Buffer.alloc(0),
}

const { service, put, send } = await startBlobFixture({ onDisk: true })

for (const [name, body] of Object.entries(BODIES)) await put(name, body)

const get = (name: string, headers: Headers, method = 'GET') =>
  send(method, `/box/${name}`, headers)

// blob, Range, x-ms-range → from, to (exclusive)
const PARTS: readonly (readonly [string, string, string, number, number])[] = [
  ['small', 'bytes=0-0', '', 0, 1],
  ['small', 'bytes=2-5', '', 2, 6],
  ['small', 'bytes=7-', '', 7, 10],
  ['small', 'bytes=9-9', '', 9, 10],
  ['small', 'bytes=0-', '', 0, 10],
  ['small', 'bytes=4-4000', '', 4, 10],
  ['small', 'bytes=0-9', '', 0, 10],
  ['small', '', 'bytes=3-4', 3, 5],
  ['small', 'bytes=0-0', 'bytes=3-4', 3, 5],
  ['small', 'bytes=90-99', 'bytes=3-4', 3, 5],
  ['large', 'bytes=0-0', '', 0, 1],
  ['large', 'bytes=65535-65536', '', 65_535, 65_537],
  ['large', 'bytes=1048570-3145740', '', 1_048_570, 3_145_741],
  ['large', 'bytes=5242879-', '', 5 * MIB - 1, 5 * MIB],
]

describe('a range', () => {
  for (const [name, range, own, from, to] of PARTS) {
    test(`of ${name}: Range ${range || '-'}, x-ms-range ${own || '-'} → ${from}…${to}`, async () => {
      const whole = BODIES[name] ?? Buffer.alloc(0)
      const headers = { ...(range && { Range: range }), ...(own && { 'x-ms-range': own }) }
      const got = await get(name, headers)
      assert.equal(got.status, 206)
      assert.ok(got.body.equals(whole.subarray(from, to)))
      assert.equal(got.headers['content-range'], `bytes ${from}-${to - 1}/${whole.length}`)
      assert.equal(got.headers['content-length'], String(to - from))
      assert.equal(got.headers['x-ms-blob-content-md5'], md5Of(whole))
      assert.equal(got.headers['content-md5'], undefined)
    })
  }

  // blob, header, value → status, code
  const REFUSED: readonly (readonly [string, string, string, number, string])[] = [
    ['small', 'Range', 'bytes=10-', 416, 'InvalidRange'],
    ['small', 'Range', 'bytes=10-20', 416, 'InvalidRange'],
    ['small', 'x-ms-range', 'bytes=99-', 416, 'InvalidRange'],
    ['large', 'Range', 'bytes=5242880-', 416, 'InvalidRange'],
    ['empty', 'Range', 'bytes=0-', 416, 'InvalidRange'],
    ['empty', 'Range', 'bytes=0-0', 416, 'InvalidRange'],
    ['small', 'x-ms-range', 'bytes=5-2', 400, 'InvalidHeaderValue'],
    ['small', 'x-ms-range', 'bytes=-2', 400, 'InvalidHeaderValue'],
    ['small', 'x-ms-range', 'bytes=0-1,4-5', 400, 'InvalidHeaderValue'],
  ]
  for (const [name, header, value, status, code] of REFUSED) {
    test(`of ${name}: ${header} ${value} → ${status} ${code}`, async () => {
      const got = await get(name, { [header]: value })
      assert.deepEqual([got.status, xmlText(got.text, 'Code')], [status, code])
      assert.equal(got.headers['x-ms-error-code'], code)
      const total = BODIES[name]?.length
      const contentRange = status === 416 ? `bytes */${total}` : undefined
      assert.equal(got.headers['content-range'], contentRange)
    })
  }

  for (const value of ['bytes=-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=5-2']) {
    test(`in Range that Azure does not support (${value}) is ignored`, async () => {
      const got = await get('small', { Range: value })
      assert.deepEqual([got.status, got.text], [200, '0123456789'])
    })
  }

  test('is ignored by HEAD', async () => {
    const got = await get('small', { Range: 'bytes=2-3' }, 'HEAD')
    assert.deepEqual([got.status, got.headers['content-length']], [200, '10'])
  })
})

describe('the hash of a range', () => {
  test('is the MD5 or CRC-64 of the returned bytes', async () => {
    for (const name of ['small', 'large']) {
      const part = BODIES[name]?.subarray(1, 9) ?? Buffer.alloc(0)
      const md5 = { Range: 'bytes=1-8', 'x-ms-range-get-content-md5': 'true' }
      const hashed = await get(name, md5)
      assert.equal(hashed.headers['content-md5'], md5Of(part))
      assert.ok(hashed.body.equals(part))
    }
    const put = { 'x-ms-blob-type': 'BlockBlob' }
    const body = 'x123456789x'
    await send('PUT', '/box/check', put, body)
    const crc64 = { 'x-ms-range': 'bytes=1-9', 'x-ms-range-get-content-crc64': 'true' }
    const got = await get('check', crc64)
    const bytes = Buffer.from(String(got.headers['x-ms-content-crc64']), 'base64')
    // The check value of CRC-64/NVME.
    assert.equal(bytes.readBigUInt64LE(), 0xae8b14860a799888n)
  })

  // headers → status
  const ASKED: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
    [{ Range: 'bytes=0-4194303', 'x-ms-range-get-content-md5': 'true' }, 206],
    [{ Range: 'bytes=0-4194304', 'x-ms-range-get-content-md5': 'true' }, 400],
    [{ Range: 'bytes=0-4194304', 'x-ms-range-get-content-crc64': 'true' }, 400],
    [{ 'x-ms-range-get-content-md5': 'true' }, 400],
    [{ 'x-ms-range-get-content-crc64': 'true' }, 400],
    [{ 'x-ms-range-get-content-md5': 'false' }, 200],
    [{ Range: 'bytes=0-9', 'x-ms-range-get-content-md5': 'maybe' }, 400],
  ]
  for (const [headers, status] of ASKED) {
    test(`${JSON.stringify(headers)} → ${status}`, async () => {
      const got = await get('large', headers)
      assert.equal(got.status, status)
      if (status === 400) assert.equal(got.headers['x-ms-error-code'], 'InvalidHeaderValue')
    })
  }

  test('cannot be both MD5 and CRC-64', async () => {
    const both = { 'x-ms-range-get-content-md5': 'true', 'x-ms-range-get-content-crc64': 'true' }
    const { status, headers } = await get('large', { Range: 'bytes=0-9', ...both })
    const code = headers['x-ms-error-code']
    assert.deepEqual([status, code], [400, 'BothCrc64AndMd5RangeHeaderPresent'])
  })
})

test('the SDK downloads a blob in parallel ranges', async () => {
  const blob = service.getContainerClient('box').getBlobClient('large')
  const whole = BODIES.large ?? Buffer.alloc(0)
  const got = await blob.downloadToBuffer(0, undefined, { blockSize: 700_001, concurrency: 4 })
  assert.ok(got.equals(whole))
  const part = await blob.download(10, 20, { rangeGetContentMD5: true })
  assert.equal(Buffer.from(part.contentMD5 ?? []).toString('base64'), md5Of(whole.subarray(10, 30)))
})
