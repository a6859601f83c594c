import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { createCmac } from './cmac.ts'

const KEY = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex')
const MESSAGE = Buffer.from(
  '6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51' +
    '30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710',
  'hex',
)

/** RFC 4493, 4. */
const MACS: readonly (readonly [number, string])[] = [
  [0, 'bb1d6929e95937287fa37d129b756746'],
  [16, '070a16b46b4d4144f79bdd9dd04a287c'],
  [40, 'dfa66747de9ae63030ca32611497c827'],
  [64, '51f0bebf7e3b9d92fc49741779363cfe'],
]

const cmac = createCmac(KEY)

for (const [lengthBytes, mac] of MACS) {
  test(`the MAC of ${lengthBytes} bytes matches RFC 4493 every time`, () => {
    for (let round = 0; round < 3; round++) {
      assert.equal(cmac([MESSAGE.subarray(0, lengthBytes)]).toString('hex'), mac)
    }
  })
}

test('the MAC depends neither on how the message is split nor on previous messages', () => {
  const cuts = fc.array(fc.nat(200_000), { maxLength: 4 })
  fc.assert(
    fc.property(fc.nat(200_000), cuts, (lengthBytes, places) => {
      const message = Buffer.alloc(lengthBytes, 'a message that is rather long')
      const sorted = [0, ...places.map((place) => Math.min(place, lengthBytes))].sort(
        (a, b) => a - b,
      )
      const parts = sorted.map((place, index) => message.subarray(place, sorted[index + 1]))
      const mac = cmac(parts)
      assert.deepEqual(cmac([message]), mac)
      assert.deepEqual(createCmac(KEY)([message]), mac)
    }),
    { numRuns: 100 },
  )
})

for (const lengthBytes of [65_535, 65_536, 65_537, 131_072, 131_073]) {
  test(`around the chunk size, the MAC of ${lengthBytes} bytes depends on the last byte`, () => {
    const message = Buffer.alloc(lengthBytes, 1)
    const mac = cmac([message])
    assert.deepEqual(cmac([message.subarray(0, 65_536), message.subarray(65_536)]), mac)
    message[lengthBytes - 1] = 2
    assert.notDeepEqual(cmac([message]), mac)
  })
}
