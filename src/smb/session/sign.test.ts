import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { RECORDED } from '../../../test/smb/recorded.ts'
import { DIALECT, defaultSigning, SIGNING, SIGNING_NAMES } from './dialect.ts'
import { createSigner, isSigned } from './sign.ts'
import { isTransform } from './transform.ts'

const FLAG_SIGNED = 8

for (const { name, signing, signingKey, messages } of RECORDED) {
  const signed = messages.filter(({ bytes }) => !isTransform(bytes) && isSigned(bytes))

  test(`${name}: ${SIGNING_NAMES[signing]} verifies and reproduces ${signed.length} signatures`, () => {
    const signer = createSigner(signing, signingKey)
    assert(signed.length > 0)
    for (const { bytes } of signed) {
      assert(signer.check(bytes))
      const again = Buffer.from(bytes)
      again.fill(0xee, 48, 64)
      again.writeUInt32LE(again.readUInt32LE(16) & ~FLAG_SIGNED, 16)
      signer.sign([again])
      assert.deepEqual(again, bytes)
    }
  })

  test(`${name}: a changed bit makes the signature wrong`, () => {
    const signer = createSigner(signing, signingKey)
    for (const { bytes } of signed.slice(0, 4)) {
      for (let at = 0; at < bytes.length; at++) {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
        assert(!signer.check(changed), `byte ${at}`)
      }
      assert(!signer.check(bytes.subarray(0, -1)))
      assert(!signer.check(Buffer.concat([bytes, Buffer.alloc(1)])))
      assert(!createSigner(signing, Buffer.alloc(16)).check(bytes))
    }
  })
}

for (const signing of Object.values(SIGNING)) {
  const signer = createSigner(signing, Buffer.alloc(16, 3))

  test(`${SIGNING_NAMES[signing]}: a message in parts has the signature of the whole`, () => {
    const message = Buffer.alloc(200_001, 5)
    for (const cuts of [[64], [80, 81, 100_000], [64, 64, 200_001]]) {
      const places = [0, ...cuts]
      const [first, ...rest] = places.map((at, i) =>
        Buffer.from(message.subarray(at, places[i + 1])),
      )
      assert(first !== undefined)
      signer.sign([first, ...rest])
      assert(signer.check(Buffer.concat([first, ...rest])))
    }
  })

  test(`${SIGNING_NAMES[signing]}: random bytes have no correct signature`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        assert(!signer.check(Buffer.from(bytes)))
        isSigned(Buffer.from(bytes))
      }),
    )
  })
}

test('the nonce of GMAC contains the direction and whether the message is a CANCEL', () => {
  const signer = createSigner(SIGNING.aesGmac, Buffer.alloc(16, 3))
  const signatureOf = (command: number, flags: number) => {
    const message = Buffer.alloc(68)
    message.writeUInt16LE(command, 12)
    message.writeUInt32LE(flags, 16)
    signer.sign([message])
    return message.toString('hex', 48, 64)
  }
  const signatures = [signatureOf(8, 0), signatureOf(8, 1), signatureOf(12, 0), signatureOf(12, 1)]
  assert.equal(new Set(signatures).size, 4)
})

test('without SIGNING_CAPABILITIES the dialect determines the algorithm', () => {
  assert.equal(defaultSigning(DIALECT.smb210), SIGNING.hmacSha256)
  assert.equal(defaultSigning(DIALECT.smb300), SIGNING.aesCmac)
  assert.equal(defaultSigning(DIALECT.smb311), SIGNING.aesCmac)
})
