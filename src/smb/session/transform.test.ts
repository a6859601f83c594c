import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import * as fc from 'fast-check'
import { RECORDED } from '../../../test/smb/recorded.ts'
import { CIPHER, CIPHERS } from './dialect.ts'
import { createDecryptor, createEncryptor, createNonces } from './transform.ts'
import { decodeTransform, isTransform, TransformError } from './transform.ts'

/** Of a copy: decryption overwrites the ciphertext. */
const headerOf = (frame: Buffer) => decodeTransform(Buffer.from(frame))

const flip = (bytes: Buffer, at: number) => {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ 0x10
  return changed
}

for (const { name, cipher, clientToServerKey, serverToClientKey, messages } of RECORDED) {
  const encrypted = messages.filter(({ bytes }) => isTransform(bytes))
  if (encrypted.length === 0) continue
  assert(cipher !== undefined && clientToServerKey && serverToClientKey)
  const keyOf = (isFromClient: boolean) => (isFromClient ? clientToServerKey : serverToClientKey)

  test(`${name}: ${CIPHERS[cipher].name} decrypts and reproduces ${encrypted.length} messages`, () => {
    for (const { bytes, isFromClient } of encrypted) {
      const key = keyOf(isFromClient)
      const header = headerOf(bytes)
      const message = createDecryptor(cipher, key).decrypt(header)
      assert.equal(message.toString('hex', 0, 4), 'fe534d42')
      assert.equal(message.readBigUInt64LE(40), header.sessionId)
      const nonce = header.nonce.subarray(0, CIPHERS[cipher].nonceBytes)
      const encryptor = createEncryptor(cipher, key, header.sessionId, () => nonce)
      assert.deepEqual(Buffer.concat(encryptor.encrypt([message])), bytes)
    }
  })

  test(`${name}: a changed bit or the key of the other direction is refused`, () => {
    const { bytes, isFromClient } = encrypted[0] ?? { bytes: Buffer.alloc(0), isFromClient: true }
    const decryptor = createDecryptor(cipher, keyOf(isFromClient))
    // Bytes of the nonce that the cipher doesn't use are protected as well.
    for (let at = 0; at < bytes.length; at++) {
      assert.throws(() => decryptor.decrypt(decodeTransform(flip(bytes, at))), TransformError)
    }
    const other = createDecryptor(cipher, keyOf(!isFromClient))
    assert.throws(() => other.decrypt(headerOf(bytes)), TransformError)
  })
}

for (const cipher of Object.values(CIPHER)) {
  const { name, keyBytes, nonceBytes } = CIPHERS[cipher]
  const key = Buffer.alloc(keyBytes, 1)

  test(`${name}: a message in parts encrypts and decrypts`, () => {
    const encryptor = createEncryptor(cipher, key, 0x1122334455667788n)
    const decryptor = createDecryptor(cipher, key)
    for (const lengths of [
      [64],
      [64, 0],
      [80, 100_000],
      [64, 1, 17, 70_000],
      [63 * 1024],
      [64, 126 * 1024],
    ]) {
      const parts = lengths.map((lengthBytes, index) => Buffer.alloc(lengthBytes, index + 1))
      const frame = Buffer.concat(encryptor.encrypt(parts))
      const header = decodeTransform(frame)
      assert.equal(header.sessionId, 0x1122334455667788n)
      assertBytes(decryptor.decrypt(header), Buffer.concat(parts))
    }
  })

  test(`${name}: each message has its own nonce of ${nonceBytes} bytes`, () => {
    const encryptor = createEncryptor(cipher, key, 1n)
    const nonces = Array.from({ length: 300 }, () => {
      const [header] = encryptor.encrypt([Buffer.alloc(64)])
      assert.deepEqual(header?.subarray(20 + nonceBytes, 36), Buffer.alloc(16 - nonceBytes))
      return header?.toString('hex', 20, 36)
    })
    assert.equal(new Set(nonces).size, 300)
  })
}

test('nonces count from 0 and end before they repeat', () => {
  const nonces = createNonces(12)
  assert.deepEqual(nonces(), Buffer.alloc(12))
  assert.equal(nonces().toString('hex'), '010000000000000000000000')
  const last = createNonces(11, Number.MAX_SAFE_INTEGER - 1)
  assert.equal(last().toString('hex'), 'feffffffffff1f00000000')
  assert.throws(last, TransformError)
  assert.throws(last, TransformError)
})

function transformOf(write: (frame: Buffer) => void, lengthBytes = 64): Buffer {
  const parts = createEncryptor(CIPHER.aes128Gcm, Buffer.alloc(16), 1n).encrypt([Buffer.alloc(64)])
  const frame = Buffer.concat(parts).subarray(0, 52 + lengthBytes)
  write(frame)
  return frame
}

const REFUSED: readonly (readonly [string, Buffer])[] = [
  ['no bytes', Buffer.alloc(0)],
  ['a message that is not encrypted', transformOf((frame) => (frame[0] = 0xfe))],
  ['a message shorter than a header', transformOf((frame) => frame.writeUInt32LE(63, 36), 63)],
  ['a size larger than the message', transformOf((frame) => frame.writeUInt32LE(65, 36))],
  ['a size smaller than the message', transformOf((frame) => frame.writeUInt32LE(63, 36))],
  ['another algorithm', transformOf((frame) => frame.writeUInt16LE(2, 42))],
]

for (const [what, frame] of REFUSED) {
  test(`refused: ${what}`, () => assert.throws(() => decodeTransform(frame), TransformError))
}

test('random bytes throw a TransformError', () => {
  const frame = transformOf(() => undefined)
  const decryptors = Object.values(CIPHER).map((cipher) =>
    createDecryptor(cipher, Buffer.alloc(CIPHERS[cipher].keyBytes, 2)),
  )
  const decrypt = (bytes: Buffer) => {
    for (const { decrypt } of decryptors) {
      assert.throws(() => decrypt(decodeTransform(bytes)), TransformError)
    }
  }
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => decrypt(Buffer.from(bytes))))
  const change = fc.array(fc.tuple(fc.nat(115), fc.nat(255)), { maxLength: 4 })
  fc.assert(
    fc.property(change, fc.nat(120), (changes, end) => {
      const bytes = Buffer.from(frame.subarray(0, end))
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
      decrypt(bytes)
    }),
    { numRuns: 1000 },
  )
})
