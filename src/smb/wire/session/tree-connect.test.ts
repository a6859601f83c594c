import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { hex, requestMessage, utf16 } from '../example.ts'
import { decodeTreeConnectRequest, encodeTreeConnectResponse } from './tree-connect.ts'

const pathRequest = (path: string) =>
  requestMessage(
    3,
    `0900 0000 4800 ${Buffer.from([2 * path.length, 0]).toString('hex')} ${utf16(path)}`,
  )

for (const [path, shareName] of [
  ['\\\\host\\share', 'share'],
  ['\\\\127.0.0.1\\IPC$', 'IPC$'],
  ['\\\\host', undefined],
  ['\\\\host\\', undefined],
  ['\\\\host\\a\\b', undefined],
  ['share', undefined],
  ['', undefined],
] as const) {
  test(`"${path}" names ${shareName === undefined ? 'no share' : `the share ${shareName}`}`, () => {
    assert.deepEqual(decodeTreeConnectRequest(pathRequest(path)), { flags: 0, path, shareName })
  })
}

test('a path of an odd length is refused', () => {
  assert.throws(
    () => decodeTreeConnectRequest(requestMessage(3, '0900 0000 4800 0300 5c005c')),
    WireError,
  )
})

test('a response encodes', () => {
  const response = {
    shareType: 1,
    shareFlags: 0x8000,
    capabilities: 0x10,
    maximalAccess: 0x001f01ff,
  }
  assert.deepEqual(
    encodeTreeConnectResponse(response),
    hex('1000 01 00 00800000 10000000 ff011f00'),
  )
})
