import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeChangeNotifyRequest,
  encodeChangeNotifyResponse,
  encodeChanges,
} from '../file/change-notify.ts'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, hex, requestMessage, utf16 } from '../example.ts'
import { decodeQueryDirectoryRequest, encodeQueryDirectoryResponse } from './query-directory.ts'
import { decodeQueryInfoRequest, encodeQueryInfoResponse } from './query-info.ts'

test('QUERY_INFO decodes a request and encodes a response', () => {
  const message = requestMessage(
    16,
    `2900 03 00 00040000 6800 0000 02000000 07000000 00000000 ${FILE_ID_HEX} aabb`,
  )
  assert.deepEqual(decodeQueryInfoRequest(message), {
    type: 3,
    informationClass: 0,
    outputMaxBytes: 1024,
    input: hex('aabb'),
    additionalInformation: 7,
    flags: 0,
    fileId: FILE_ID,
  })
  assert.throws(() => decodeQueryInfoRequest(message.subarray(0, -1)), WireError)
  assert.deepEqual(encodeQueryInfoResponse(hex('aabbcc')), hex('0900 4800 03000000 aabbcc'))
})

test('QUERY_DIRECTORY decodes a request and encodes a response', () => {
  const message = requestMessage(
    14,
    `2100 25 03 09000000 ${FILE_ID_HEX} 6000 0200 00000100 ${utf16('*')}`,
  )
  assert.deepEqual(decodeQueryDirectoryRequest(message), {
    informationClass: 37,
    flags: 3,
    fileIndex: 9,
    fileId: FILE_ID,
    pattern: '*',
    outputMaxBytes: 65_536,
  })
  assert.throws(() => decodeQueryDirectoryRequest(message.subarray(0, -1)), WireError)
  assert.deepEqual(encodeQueryDirectoryResponse(hex('aabb')), hex('0900 4800 02000000 aabb'))
})

test('CHANGE_NOTIFY decodes a request and encodes a response', () => {
  const message = requestMessage(15, `2000 0100 00100000 ${FILE_ID_HEX} ff010000 00000000`)
  assert.deepEqual(decodeChangeNotifyRequest(message), {
    watchTree: true,
    outputMaxBytes: 4096,
    fileId: FILE_ID,
    completionFilter: 0x1ff,
  })
  assert.throws(() => decodeChangeNotifyRequest(message.subarray(0, -1)), WireError)
  assert.deepEqual(encodeChangeNotifyResponse(hex('aabb')), hex('0900 4800 02000000 aabb'))
})

test('a list of changes is 4-aligned, and complete or missing', () => {
  const changes = [
    { action: 4, name: 'a' },
    { action: 5, name: 'bc' },
  ]
  const list = hex(
    `10000000 04000000 02000000 ${utf16('a')} 0000 00000000 05000000 04000000 ${utf16('bc')}`,
  )
  assert.deepEqual(encodeChanges(changes, list.length), list)
  assert.equal(encodeChanges(changes, list.length - 1), undefined)
  assert.deepEqual(encodeChanges([], 0), Buffer.alloc(0))
})
