import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodePopReceipt, encodePopReceipt } from './pop-receipt.ts'

test('a receipt decodes to what was encoded', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.maxSafeNat(), (messageId, sequence) => {
      const receipt = { messageId, sequence }
      assert.deepEqual(decodePopReceipt(encodePopReceipt(receipt)), receipt)
    }),
  )
})

const GOOD = encodePopReceipt({ messageId: '01234567-89ab-4cde-8f01-23456789abcd', sequence: 7 })

for (const [name, text] of [
  ['an empty text', ''],
  ['a text that isn’t base64', 'not a receipt!'],
  ['a text that is too short', GOOD.slice(0, -4)],
  ['a text that is too long', `${GOOD}AAAA`],
  ['a text with white space', `${GOOD.slice(0, 8)} ${GOOD.slice(8)}`],
  ['a number that is too large', btoa('9999999999999999:01234567-89ab-4cde-8f01-23456789abcd')],
  ['a number with a leading zero', btoa('07:01234567-89ab-4cde-8f01-23456789abcd')],
  ['a receipt of Azure', 'AgAAAAMAAAAAAAAAyIzI1X8c2AE='],
] as const) {
  test(`${name} is not a receipt`, () => assert.equal(decodePopReceipt(text), undefined))
}

test('decoding never throws', () => {
  fc.assert(fc.property(fc.string(), (text) => void decodePopReceipt(text)))
})
