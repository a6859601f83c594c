import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RECORDED } from '../../../test/smb/recorded.ts'
import { CIPHER, DIALECT } from './dialect.ts'
import { deriveKey, deriveSessionKeys, deriveSigningKey } from './key.ts'
import { extendPreauthHash, PREAUTH_HASH_START } from './key.ts'

for (const session of RECORDED) {
  test(`${session.name}: the keys equal the recorded ones`, () => {
    const keys = deriveSessionKeys(session)
    assert.deepEqual(keys.signing, session.signingKey)
    assert.deepEqual(keys.decryption, session.clientToServerKey)
    assert.deepEqual(keys.encryption, session.serverToClientKey)
  })
}

for (const { name, messages, preauthHash } of RECORDED.filter(
  ({ dialect }) => dialect === DIALECT.smb311,
)) {
  test(`${name}: the preauthentication hash equals the recorded one`, () => {
    // NEGOTIATE and its response, two SESSION_SETUPs and the response to the first.
    const hash = messages
      .slice(0, 5)
      .reduce((hash, { bytes }) => extendPreauthHash(hash, bytes), PREAUTH_HASH_START)
    assert.deepEqual(hash, preauthHash)
  })
}

test('a message in parts has the hash of the whole', () => {
  const [one, two] = [Buffer.from('one'), Buffer.from('two')]
  const whole = extendPreauthHash(PREAUTH_HASH_START, Buffer.concat([one, two]))
  assert.deepEqual(extendPreauthHash(PREAUTH_HASH_START, one, two), whole)
})

const SECRET = {
  dialect: DIALECT.smb311,
  cipher: CIPHER.aes256Gcm,
  sessionKey: Buffer.alloc(32, 7),
  preauthHash: Buffer.alloc(64, 9),
} as const

test('32-byte keys are derived from the whole session key, 16-byte keys from its first half', () => {
  const keys = deriveSessionKeys(SECRET)
  const half = deriveSessionKeys({ ...SECRET, sessionKey: SECRET.sessionKey.subarray(0, 16) })
  assert.equal(keys.encryption?.length, 32)
  assert.notDeepEqual(keys.encryption, half.encryption)
  assert.deepEqual(keys.signing, half.signing)
})

test('without a cipher there are no encryption keys', () => {
  const { encryption, decryption } = deriveSessionKeys({ ...SECRET, cipher: undefined })
  assert.deepEqual([encryption, decryption], [undefined, undefined])
})

test('another preauthentication hash gives another signing key', () => {
  const other = { ...SECRET, preauthHash: PREAUTH_HASH_START }
  assert.notDeepEqual(deriveSigningKey(SECRET), deriveSigningKey(other))
})

test('a session key shorter than 16 bytes is padded with zeros', () => {
  const short = { ...SECRET, dialect: DIALECT.smb210, sessionKey: Buffer.alloc(8, 7) }
  assert.equal(deriveSigningKey(short).toString('hex'), '07'.repeat(8) + '00'.repeat(8))
})

test('a derived key depends on its length', () => {
  const [short, long] = ([16, 32] as const).map((lengthBytes) =>
    deriveKey(Buffer.alloc(16), 'label\0', Buffer.alloc(1), lengthBytes),
  )
  assert.notDeepEqual(long?.subarray(0, 16), short)
})
