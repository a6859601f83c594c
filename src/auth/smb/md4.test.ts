import assert from 'node:assert/strict'
import { test } from 'node:test'
import { md4 } from './md4.ts'

/** RFC 1320, A.5. At 62 bytes the padding needs another block. */
const DIGESTS: readonly (readonly [string, string])[] = [
  ['', '31d6cfe0d16ae931b73c59d7e0c089c0'],
  ['a', 'bde52cb31de33e46245e05fbdbd6fb24'],
  ['abc', 'a448017aaf21d8525fc10ae87aa6729d'],
  ['message digest', 'd9130a8164549fe818874806e1c7014b'],
  ['abcdefghijklmnopqrstuvwxyz', 'd79e1c308aa5bbcdeea8ed63df412da9'],
  [
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
    '043f8582f241db351ce627e153e7f0e4',
  ],
  ['1234567890'.repeat(8), 'e33b4ddc9c38f2199c3e7b164fcc0536'],
]

for (const [text, digest] of DIGESTS) {
  test(`MD4 of ${text.length} bytes matches RFC 1320`, () => {
    assert.equal(md4(Buffer.from(text, 'latin1')).toString('hex'), digest)
  })
}

test('the NT hash of a password matches [MS-NLMP]', () => {
  const hash = md4(Buffer.from('Password', 'utf16le')) // [MS-NLMP] 4.2.2.1.2
  assert.equal(hash.toString('hex'), 'a4f49c406510bdcab6824ee7c30fd852')
})
