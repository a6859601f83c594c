import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodePopReceipt, encodePopReceipt } from './pop-receipt.ts'

test('a receipt says what it was made of', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.maxSafeNat(), (messageId, sequence) => {
      const made = { messageId, sequence }
      assert.deepEqual(decodePopReceipt(encodePopReceipt(made)), made)
    }),
  )
})

const GOOD = encodePopReceipt({ messageId: '01234567-89ab-4cde-8f01-23456789abcd', sequence: 7 })

for (const [name, text] of [
  ['nothing', ''],
  ['no base64', 'not a receipt!'],
  ['too short', GOOD.slice(0, -4)],
  ['too long', `${GOOD}AAAA`],
  ['white space inside', `${GOOD.slice(0, 8)} ${GOOD.slice(8)}`],
  ['a number that none has', btoa('9999999999999999:01234567-89ab-4cde-8f01-23456789abcd')],
  ['a number with a zero before it', btoa('07:01234567-89ab-4cde-8f01-23456789abcd')],
  ['of the service in the cloud', 'AgAAAAMAAAAAAAAAyIzI1X8c2AE='],
] as const) {
  test(`${name} is none`, () => assert.equal(decodePopReceipt(text), undefined))
}

test('no text makes it throw', () => {
  fc.assert(fc.property(fc.string(), (text) => void decodePopReceipt(text)))
})
