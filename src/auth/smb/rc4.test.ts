import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rc4 } from './rc4.ts'

const VECTORS: readonly (readonly [string, string, string])[] = [
  ['Key', 'Plaintext', 'bbf316e8d940af0ad3'],
  ['Wiki', 'pedia', '1021bf0420'],
  ['Secret', 'Attack at dawn', '45a01f645fc35b383552544b9bf5'],
]

for (const [key, text, cipher] of VECTORS) {
  test(`RC4 with the key ${key} encrypts and decrypts "${text}"`, () => {
    assert.equal(rc4(Buffer.from(key), Buffer.from(text)).toString('hex'), cipher)
    assert.equal(rc4(Buffer.from(key), Buffer.from(cipher, 'hex')).toString(), text)
  })
}

test('the key stream of a 40-bit key matches RFC 6229', () => {
  const stream = rc4(Buffer.from('0102030405', 'hex'), Buffer.alloc(16)) // RFC 6229
  assert.equal(stream.toString('hex'), 'b2396305f03dc027ccc3524a0a1118a8')
})
