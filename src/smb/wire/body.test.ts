import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BEYOND_ANY_FILE,
  checkBody,
  clampToNumber,
  decodePositive,
  decodeText,
  encodeText,
  variablePart,
} from './body.ts'
import { WireError } from './error.ts'
import { hex, requestMessage } from './example.ts'

const refused = (error: unknown) =>
  error instanceof WireError && error.status === 'INVALID_PARAMETER'

test('an odd StructureSize may be one byte short, an even one may not', () => {
  checkBody(requestMessage(1, '0900 0000 0000 0000'), 9)
  assert.throws(() => checkBody(requestMessage(1, '0900 0000 0000 00'), 9), refused)
  assert.throws(() => checkBody(requestMessage(1, '0400 00'), 4), refused)
  assert.throws(() => checkBody(requestMessage(1, '0500 0000'), 4), refused)
})

test('the variable part must be after the fixed part and inside the message', () => {
  const message = requestMessage(1, '0900 0000 0000 0000 aabbcc')
  const part = (offset: number, lengthBytes: number) =>
    variablePart(message, 9, { offset, lengthBytes })
  assert.deepEqual(part(72, 3), hex('aabbcc'))
  assert.deepEqual(part(74, 1), hex('cc'))
  assert.equal(part(0, 0).length, 0)
  assert.equal(part(0xffffffff, 0).length, 0)
  for (const [offset, lengthBytes] of [
    [71, 1],
    [72, 4],
    [75, 1],
    [0, 1],
    [0xffffffff, 0xffffffff],
  ] as const) {
    assert.throws(() => part(offset, lengthBytes), refused)
  }
})

test('text is UTF-16 code units, including lone surrogates', () => {
  for (const text of ['', 'a', 'grüße', '\ud800x', '😀']) {
    assert.equal(decodeText(encodeText(text)), text)
  }
  assert.throws(() => decodeText(hex('610062')), refused)
})

test('offsets are exact up to 2^53-1, clamped up to 2^63-1, and refused above', () => {
  const at = (value: bigint) => {
    const buffer = Buffer.alloc(8)
    buffer.writeBigUInt64LE(value)
    return clampToNumber(decodePositive(buffer, 0))
  }
  assert.equal(at(2n ** 53n - 1n), BEYOND_ANY_FILE)
  assert.equal(at(4096n), 4096)
  assert.equal(at(2n ** 63n - 1n), BEYOND_ANY_FILE)
  assert.throws(() => at(2n ** 63n), refused)
})
