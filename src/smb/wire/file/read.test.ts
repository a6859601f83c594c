import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BEYOND_ANY_FILE } from '../body.ts'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, hex, requestMessage } from '../example.ts'
import { decodeReadRequest, encodeReadResponseHead } from './read.ts'
import { decodeWriteRequest, encodeWriteResponse } from './write.ts'

const readRequest = (offset: string) =>
  requestMessage(
    8,
    `3100 50 01 00000100 ${offset} ${FILE_ID_HEX} 05000000 00000000 00000000 0000 0000 00`,
  )

test('READ decodes a request and encodes the head of a response', () => {
  assert.deepEqual(decodeReadRequest(readRequest('0010000000000000')), {
    flags: 1,
    lengthBytes: 65_536,
    offset: 4096,
    offsetExact: 4096n,
    fileId: FILE_ID,
    minimumCount: 5,
    channel: 0,
  })
  assert.deepEqual(encodeReadResponseHead(0x71), hex('1100 50 00 71000000 00000000 00000000'))
})

const writeRequest = (offset: string, dataOffset = '7000', length = '03000000') =>
  requestMessage(
    9,
    `3100 ${dataOffset} ${length} ${offset} ${FILE_ID_HEX} 00000000 00000000 0000 0000 01000000 aabbcc`,
  )

test('the content of a WRITE is a view of the message', () => {
  const message = writeRequest('0010000000000000')
  const request = decodeWriteRequest(message)
  assert.deepEqual(request, {
    append: false,
    offset: 4096,
    offsetExact: 4096n,
    content: hex('aabbcc'),
    fileId: FILE_ID,
    channel: 0,
    flags: 1,
  })
  assert.equal(request.content.buffer, message.buffer)
  assert.deepEqual(encodeWriteResponse(3), hex('1100 0000 03000000 00000000 00000000'))
})

test('a WRITE may be empty', () => {
  assert.equal(
    decodeWriteRequest(writeRequest('0000000000000000', '0000', '00000000')).content.length,
    0,
  )
})

test('a WRITE with an offset of all ones appends', () => {
  const request = decodeWriteRequest(writeRequest('ffffffffffffffff'))
  assert.deepEqual([request.append, request.offset], [true, 0])
})

test('a WRITE of more bytes than it contains is refused', () => {
  assert.throws(
    () => decodeWriteRequest(writeRequest('0000000000000000', '7000', '04000000')),
    WireError,
  )
})

for (const [offset, expected] of [
  ['ffffffffffff1f00', BEYOND_ANY_FILE],
  ['ffffffffffffff7f', BEYOND_ANY_FILE],
  ['0000000000000080', 'INVALID_PARAMETER'],
  ['feffffffffffffff', 'INVALID_PARAMETER'],
] as const) {
  test(`offset ${offset} → ${expected}`, () => {
    for (const decode of [
      () => decodeReadRequest(readRequest(offset)),
      () => decodeWriteRequest(writeRequest(offset)),
    ]) {
      if (expected === 'INVALID_PARAMETER') assert.throws(decode, WireError)
      else assert.equal(decode().offset, expected)
    }
  })
}
