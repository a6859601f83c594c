import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBytes } from './assert-bytes.ts'

test('equal bytes pass in any class, and so does undefined twice', () => {
  assertBytes(Buffer.from('ab'), new Uint8Array([97, 98]))
  assertBytes(undefined, undefined)
})

const bytes = Buffer.alloc(1_000_000, 'a')
// prettier-ignore
const DIFFERENT: readonly (readonly [string, Buffer | undefined, Buffer | undefined, RegExp])[] = [
  ['a byte', Buffer.concat([bytes, Buffer.from('b')]), Buffer.concat([bytes, Buffer.from('c')]), /from byte 1000000 on 62 instead of 63$/],
  ['a missing end', bytes.subarray(0, 7), bytes, /^the bytes differ: 7 bytes instead of 1000000, from byte 7 on {2}instead of 61/],
  ['too many bytes', bytes, bytes.subarray(0, 7), /from byte 7 on 6161616161616161\w+ instead of $/],
  ['nothing', undefined, bytes, /the bytes differ/],
  ['bytes instead of undefined', bytes, undefined, /the bytes differ/],
]
for (const [what, actual, expected, message] of DIFFERENT) {
  test(`${what} fails with the place where it begins`, () => {
    assert.throws(() => assertBytes(actual, expected), { name: 'AssertionError', message })
  })
}
