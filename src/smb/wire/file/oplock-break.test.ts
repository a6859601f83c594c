import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, hex, requestMessage } from '../example.ts'
import {
  decodeOplockBreakRequest,
  encodeLeaseBreakNotification,
  encodeLeaseBreakResponse,
  encodeOplockBreak,
} from './oplock-break.ts'

const KEY_HEX = '000102030405060708090a0b0c0d0e0f'
const KEY = hex(KEY_HEX)

test('the acknowledgement of an oplock and its response have 24 bytes', () => {
  const body = `1800 01 00 00000000 ${FILE_ID_HEX}`
  assert.deepEqual(decodeOplockBreakRequest(requestMessage(18, body)), {
    kind: 'oplock',
    oplockLevel: 1,
    fileId: FILE_ID,
  })
  assert.deepEqual(encodeOplockBreak(1, FILE_ID), hex(body))
})

test('the acknowledgement of a lease and its response have 36 bytes', () => {
  const body = `2400 0000 00000000 ${KEY_HEX} 03000000 0000000000000000`
  assert.deepEqual(decodeOplockBreakRequest(requestMessage(18, body)), {
    kind: 'lease',
    leaseKey: KEY,
    leaseState: 3,
  })
  assert.deepEqual(encodeLeaseBreakResponse(KEY, 3), hex(body))
})

test('the notification of a lease has 44 bytes', () => {
  assert.deepEqual(
    encodeLeaseBreakNotification({
      newEpoch: 5,
      ackRequired: true,
      leaseKey: KEY,
      currentState: 7,
      newState: 3,
    }),
    hex(`2c00 0500 01000000 ${KEY_HEX} 07000000 03000000 00000000 00000000 00000000`),
  )
})

for (const body of ['', '18', '2400 0000', '1800 01 00', '2c00 0000 00000000']) {
  test(`"${body}" is refused`, () => {
    assert.throws(() => decodeOplockBreakRequest(requestMessage(18, body)), WireError)
  })
}
