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

  test(`${name}: ${signed.length} messages signed with ${SIGNING_NAMES[signing]}`, () => {
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

  test(`${name}: no bit may be changed`, () => {
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

  test(`${SIGNING_NAMES[signing]}: a message in parts is signed as the whole`, () => {
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

  test(`${SIGNING_NAMES[signing]}: any bytes are checked, and wrong`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        assert(!signer.check(Buffer.from(bytes)))
        isSigned(Buffer.from(bytes))
      }),
    )
  })
}

test('GMAC: who speaks and what is cancelled are in the nonce', () => {
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

test('where nothing was agreed, the dialect says how', () => {
  assert.equal(defaultSigning(DIALECT.smb210), SIGNING.hmacSha256)
  assert.equal(defaultSigning(DIALECT.smb300), SIGNING.aesCmac)
  assert.equal(defaultSigning(DIALECT.smb311), SIGNING.aesCmac)
})
