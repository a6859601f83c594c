import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from '../error.ts'
import { FILE_ID, FILE_ID_HEX, requestMessage } from '../example.ts'
import { decodeLockRequest } from './lock.ts'

const ELEMENT = '0100000000000000 0200000000000000 12000000 00000000'
const HIGH_ELEMENT = 'ffffffffffffffff feffffffffffffff 04000000 00000000'

const lockRequest = (count: string, ...elements: readonly string[]) =>
  requestMessage(10, `3000 ${count} 23000000 ${FILE_ID_HEX} ${elements.join('')}`)

test('elements may be any u64 range', () => {
  assert.deepEqual(decodeLockRequest(lockRequest('0200', ELEMENT, HIGH_ELEMENT)), {
    fileId: FILE_ID,
    sequenceNumber: 3,
    sequenceIndex: 2,
    locks: [
      { offset: 1n, length: 2n, flags: 0x12 },
      { offset: 2n ** 64n - 1n, length: 2n ** 64n - 2n, flags: 4 },
    ],
  })
})

for (const [what, message] of [
  ['no element', lockRequest('0000', ELEMENT)],
  ['fewer elements than announced', lockRequest('0200', ELEMENT)],
  ['65,535 elements', lockRequest('ffff', ELEMENT)],
] as const) {
  test(`${what} → INVALID_PARAMETER`, () =>
    assert.throws(() => decodeLockRequest(message), WireError))
}
