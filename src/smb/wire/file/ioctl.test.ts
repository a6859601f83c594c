import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, hex, requestMessage } from '../example.ts'
import { decodeIoctlRequest, encodeIoctlResponse } from './ioctl.ts'

const ioctlRequest = (input: string, flags = '01000000') =>
  requestMessage(
    11,
    `3900 0000 17c01100 ${FILE_ID_HEX} ${input} 00000000 00000000 00000000 00040000 ${flags} 00000000 aabb`,
  )

test('a request decodes', () => {
  assert.deepEqual(decodeIoctlRequest(ioctlRequest('78000000 02000000')), {
    ctlCode: 0x0011c017,
    fileId: FILE_ID,
    input: hex('aabb'),
    outputMaxBytes: 1024,
    isFsctl: true,
  })
  assert.equal(decodeIoctlRequest(ioctlRequest('00000000 00000000', '00000000')).isFsctl, false)
})

for (const input of ['78000000 03000000', '77000000 01000000', 'ffffffff ffffffff']) {
  test(`input at ${input} is refused`, () => {
    assert.throws(() => decodeIoctlRequest(ioctlRequest(input)), WireError)
  })
}

test('a response encodes', () => {
  assert.deepEqual(
    encodeIoctlResponse({ ctlCode: 0x0011c017, fileId: FILE_ID, output: hex('ccdd') }),
    hex(
      `3100 0000 17c01100 ${FILE_ID_HEX} 70000000 00000000 70000000 02000000 00000000 00000000 ccdd`,
    ),
  )
})
