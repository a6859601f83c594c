import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { mechTypeList, negTokenInit } from '../../../test/smb/ntlm-client.ts'
import { RECORDED } from '../../../test/smb/recorded.ts'
import { encodeDer, readDer, readDerChildren } from './der.ts'
import { SecurityTokenError } from './security-token-error.ts'
import { decodeSpnego, encodeNegTokenInit2, encodeNegTokenResp, MECHANISM } from './spnego.ts'

for (const { name, blobs } of RECORDED) {
  const [hello, first, challenge, second, accepted] = blobs

  test(`${name}: the server's NegTokenInit2 equals the recorded one`, () => {
    assert.deepEqual(encodeNegTokenInit2([MECHANISM.ntlmssp]), hello)
    const token = decodeSpnego(hello)
    assert(token.kind === 'init')
    assert.deepEqual(token.mechTypes, [MECHANISM.ntlmssp])
    assert.equal(token.mechListMic, undefined)
  })

  test(`${name}: the client's NegTokenInit decodes`, () => {
    const token = decodeSpnego(first)
    assert(token.kind === 'init')
    assert.deepEqual(token.mechTypes, [MECHANISM.ntlmssp])
    assert.equal(token.mechTypeList.toString('hex'), '300c060a2b06010401823702020a')
    assert.deepEqual(negTokenInit(token.mechTypeList, token.mechToken), first)
  })

  test(`${name}: the NegTokenResps decode and encode again`, () => {
    for (const blob of [challenge, accepted]) {
      const token = decodeSpnego(blob)
      assert(token.kind === 'response')
      assert.deepEqual(encodeNegTokenResp({ ...token, negState: token.negState ?? 0 }), blob)
    }
    const token = decodeSpnego(second)
    assert(token.kind === 'response')
    assert.equal(token.negState, undefined)
    assert.equal(token.mechListMic?.length, 16)
  })
}

const REFUSED: readonly (readonly [string, string])[] = [
  ['no bytes', ''],
  ['a tag alone', '60'],
  ['an indefinite length', '6080'],
  ['a length of five bytes', '60850000000001'],
  ['a length beyond the end', '600a0606'],
  ['a tag of several bytes', '7f0100'],
  ['an empty NegTokenInit', '6000'],
  ['another GSS-API mechanism', '600906062b0601050503a000'],
  ['no mechTypes', '600c06062b0601050502a0023000'],
  ['mechTypes that are not object identifiers', '601206062b0601050502a0083006a00430020400'],
  ['a NegTokenResp without a SEQUENCE', 'a1020400'],
  ['a response token that is not an OCTET STRING', 'a1063004a2023000'],
]

for (const [what, hex] of REFUSED) {
  test(`refused: ${what}`, () => {
    assert.throws(() => decodeSpnego(Buffer.from(hex, 'hex')), SecurityTokenError)
  })
}

test('lengths of one to four bytes encode and decode', () => {
  for (const lengthBytes of [0, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000]) {
    const encoded = encodeDer(4, Buffer.alloc(lengthBytes))
    assert.equal(readDer(encoded).content.length, lengthBytes)
    assert.equal(encoded.length, readDer(encoded).whole.length)
  }
})

test('a token with too many elements is refused', () => {
  assert.throws(() => readDerChildren(Buffer.alloc(130)), SecurityTokenError)
})

test('any bytes decode or throw a SecurityTokenError', () => {
  const seeds = [
    ...RECORDED.flatMap(({ blobs }) => blobs),
    negTokenInit(mechTypeList(MECHANISM.kerberos, MECHANISM.ntlmssp)),
  ]
  const decode = (bytes: Uint8Array) => {
    try {
      decodeSpnego(Buffer.from(bytes))
    } catch (error) {
      assert(error instanceof SecurityTokenError)
    }
  }
  const change = fc.array(fc.tuple(fc.nat(120), fc.nat(255)), { minLength: 1, maxLength: 4 })
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), decode), { numRuns: 2000 })
  fc.assert(
    fc.property(fc.constantFrom(...seeds), change, fc.nat(500), (seed, changes, end) => {
      const bytes = Buffer.from(seed.subarray(0, end))
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
      decode(bytes)
    }),
    { numRuns: 4000 },
  )
})
