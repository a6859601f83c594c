import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crc64, createCrc64 } from './crc64.ts'

/** The definition, bit by bit. */
function crc64ByDefinition(bytes: Uint8Array): bigint {
  let crc = 0xffff_ffff_ffff_ffffn
  for (const byte of bytes) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc >> 1n) ^ (crc & 1n ? 0x9a6c_9329_ac4b_c9b5n : 0n)
    }
  }
  return crc ^ 0xffff_ffff_ffff_ffffn
}

const KNOWN: readonly [string, bigint][] = [
  ['', 0n],
  ['123456789', 0xae8b_1486_0a79_9888n],
]
for (const [text, crc] of KNOWN) {
  test(`'${text}' has the checksum ${crc.toString(16)}, in little-endian bytes`, () => {
    assert.equal(crc64(Buffer.from(text)).readBigUInt64LE(), crc)
  })
}

test('the checksum matches the bitwise definition for any bytes in any chunks', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 })
  fc.assert(
    fc.property(chunks, (chunks) => {
      const crc = createCrc64()
      for (const chunk of chunks) crc.update(chunk)
      const expected = crc64ByDefinition(Buffer.concat(chunks))
      assert.equal(crc.digest().readBigUInt64LE(), expected)
    }),
  )
})
