import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import { contentRange, decodeRange, decodeRangeHash, decodeWriteRange } from './range.ts'

const VERSION = '2026-04-06'
const LENGTH = 10

const READS = [
  ['bytes=0-3', { from: 0, to: 4 }],
  ['bytes=3-', { from: 3, to: 10 }],
  ['bytes=9-9', { from: 9, to: 10 }],
  ['bytes=5-99999999999999999', { from: 5, to: 10 }],
  ['Bytes=0-0', { from: 0, to: 1 }],
  // Neither suffixes nor several ranges are supported.
  ['bytes=-5', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=5-3', undefined],
  ['lines=0-1', undefined],
  ['bytes=', undefined],
] as const

for (const [text, expected] of READS) {
  test(`Range: ${text} of ${LENGTH} bytes → ${JSON.stringify(expected) ?? 'all'}`, () => {
    assert.deepEqual(decodeRange({ range: text }, VERSION, LENGTH), expected)
    if (expected !== undefined) {
      assert.deepEqual(decodeRange({ 'x-ms-range': text }, VERSION, LENGTH), expected)
    } else {
      assert.throws(() => decodeRange({ 'x-ms-range': text }, VERSION, LENGTH), {
        code: 'InvalidHeaderValue',
        details: { HeaderName: 'x-ms-range', HeaderValue: text },
      })
    }
  })
}

test('x-ms-range wins over Range', () => {
  const headers = { 'x-ms-range': 'bytes=1-2', range: 'bytes=3-4' }
  assert.deepEqual(decodeRange(headers, VERSION, LENGTH), { from: 1, to: 3 })
  assert.equal(decodeRange({}, VERSION, LENGTH), undefined)
})

for (const [text, length] of [
  ['bytes=10-', 10],
  ['bytes=9999999999999999999-', 10],
  ['bytes=11-12', 10],
  ['bytes=0-', 0],
] as const) {
  test(`${text} of ${length} bytes → 416 with the length`, () => {
    assert.throws(() => decodeRange({ range: text }, VERSION, length), {
      code: 'InvalidRange',
      status: 416,
      details: { 'Content-Range': `bytes */${length}` },
    })
  })
}

test('before 2011-08-18 a range without an end is not a range', () => {
  assert.equal(decodeRange({ range: 'bytes=3-' }, '2009-09-19', LENGTH), undefined)
})

test('a write needs both ends', () => {
  assert.deepEqual(decodeWriteRange({ 'x-ms-range': 'bytes=0-511' }), { from: 0, to: 512 })
  assert.deepEqual(decodeWriteRange({ range: 'bytes=512-1023' }), { from: 512, to: 1024 })
  assert.throws(() => decodeWriteRange({}), { code: 'MissingRequiredHeader' })
  for (const text of ['bytes=0-', 'bytes=5-3', 'bytes=0-9999999999999999999', 'x']) {
    assert.throws(() => decodeWriteRange({ range: text }), { code: 'InvalidHeaderValue' })
  }
})

const MIB = 1024 * 1024
const MD5 = { 'x-ms-range-get-content-md5': 'true' }
const CRC64 = { 'x-ms-range-get-content-crc64': 'true' }

test('a range of at most 4 MiB is hashed, with one hash', () => {
  const range = { from: 1, to: 1 + 4 * MIB }
  assert.equal(decodeRangeHash({}, undefined), undefined)
  assert.equal(decodeRangeHash({ 'x-ms-range-get-content-md5': 'false' }, undefined), undefined)
  assert.equal(decodeRangeHash(MD5, range), 'md5')
  assert.equal(decodeRangeHash(CRC64, range), 'crc64')
  const refused = { code: 'InvalidHeaderValue', status: 400 }
  assert.throws(() => decodeRangeHash(MD5, undefined), refused)
  assert.throws(() => decodeRangeHash(CRC64, { from: 0, to: 4 * MIB + 1 }), refused)
  const both = { code: 'BothCrc64AndMd5RangeHeaderPresent', status: 400 }
  assert.throws(() => decodeRangeHash({ ...MD5, ...CRC64 }, range), both)
})

test('Content-Range has the first and last byte and the length', () => {
  assert.equal(contentRange({ from: 2, to: 5 }, 10), 'bytes 2-4/10')
})

test('any header gives a range inside the content, or a StorageError', () => {
  const text = fc.oneof(
    fc.string(),
    fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => `bytes=${a}-${b}`),
  )
  fc.assert(
    fc.property(text, fc.nat(), fc.constantFrom('range', 'x-ms-range'), (value, length, name) => {
      try {
        const range = decodeRange({ [name]: value }, VERSION, length)
        if (range === undefined) return
        assert(range.from >= 0 && range.from < range.to && range.to <= length)
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
  )
})
