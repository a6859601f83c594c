import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { AV_HAS_MIC, authenticateMessage, negotiateMessage } from '../../../test/smb/ntlm-client.ts'
import { CLIENT_FLAGS, SESSION_KEY, type ClientAnswer } from '../../../test/smb/ntlm-client.ts'
import { RECORDED, type RecordedSession } from '../../../test/smb/recorded.ts'
import { ntHashOf, ntlmSignature, ntowfV2, verifyAuthenticate } from './ntlm.ts'
import type { NtlmExchange } from './ntlm.ts'
import { challengeFlags, decodeAuthenticate, decodeNegotiate } from './ntlm-message.ts'
import { decodeNtlmV2Response, encodeChallenge, NTLM_FLAG } from './ntlm-message.ts'
import { SecurityTokenError } from './security-token-error.ts'
import { decodeSpnego } from './spnego.ts'

function tokenOf(blob: Buffer): Buffer {
  const token = decodeSpnego(blob)
  const bytes = token.kind === 'init' ? token.mechToken : token.responseToken
  assert(bytes !== undefined)
  return bytes
}

function recordedExchange({ blobs, serverChallenge }: RecordedSession): NtlmExchange {
  const challenge = tokenOf(blobs[2])
  const flags = challenge.readUInt32LE(20)
  return { negotiate: tokenOf(blobs[1]), challenge, serverChallenge, flags }
}

const RECORDED_NAMES = { nbName: 'TSAMBA2', dnsName: 'vm', dnsDomain: '' }

for (const session of RECORDED) {
  const { name, password, sessionKey, blobs, serverChallenge } = session
  const exchange = recordedExchange(session)
  const authenticate = tokenOf(blobs[3])

  test(`${name}: the CHALLENGE equals the recorded one`, () => {
    const flags = challengeFlags(decodeNegotiate(exchange.negotiate).flags)
    const timestamp = exchange.challenge.readBigUInt64LE(exchange.challenge.length - 12)
    const message = encodeChallenge({ flags, serverChallenge, names: RECORDED_NAMES, timestamp })
    assert.deepEqual(message, exchange.challenge)
  })

  test(`${name}: one of two passwords gives the recorded session key`, () => {
    const message = decodeAuthenticate(authenticate)
    assert.equal(message.user, session.user)
    assert.equal(message.domain, session.domain)
    const verified = verifyAuthenticate(exchange, message, ['another', password].map(ntHashOf))
    assert.deepEqual(verified?.sessionKey, sessionKey)
  })

  test(`${name}: another password, another challenge and changed messages are refused`, () => {
    const message = decodeAuthenticate(authenticate)
    assert.equal(verifyAuthenticate(exchange, message, [ntHashOf('another')]), undefined)
    assert.equal(verifyAuthenticate(exchange, message, []), undefined)
    const other = { ...exchange, serverChallenge: Buffer.alloc(8) }
    assert.equal(verifyAuthenticate(other, message, [ntHashOf(password)]), undefined)
    // Version, MIC, NTProofStr, the client's time, the encrypted session key.
    for (const at of [64, 72, 0x70, 0x88, authenticate.length - 1]) {
      const changed = Buffer.from(authenticate)
      changed[at] = (changed[at] ?? 0) ^ 1
      const refused = verifyAuthenticate(exchange, decodeAuthenticate(changed), [
        ntHashOf(password),
      ])
      assert.equal(refused, undefined, `byte ${at}`)
    }
    const negotiate = Buffer.from(exchange.negotiate)
    negotiate[12] = 0
    assert.equal(
      verifyAuthenticate({ ...exchange, negotiate }, message, [ntHashOf(password)]),
      undefined,
    )
  })

  test(`${name}: the mechListMICs equal the recorded ones`, () => {
    const [first, second, accepted] = [blobs[1], blobs[3], blobs[4]].map(decodeSpnego)
    assert(first?.kind === 'init')
    const verified = verifyAuthenticate(exchange, decodeAuthenticate(authenticate), [
      ntHashOf(password),
    ])
    assert(verified !== undefined)
    const signature = (direction: 'client-to-server' | 'server-to-client') =>
      ntlmSignature(verified, direction, first.mechTypeList)
    assert.deepEqual(signature('client-to-server'), second?.mechListMic)
    assert.deepEqual(signature('server-to-client'), accepted?.mechListMic)
  })
}

test('NTOWFv2 matches [MS-NLMP] 4.2.4.1.1', () => {
  const key = ntowfV2(ntHashOf('Password'), 'User', 'Domain')
  assert.equal(key.toString('hex'), '0c868a403bfd7a93a3001ef22ef02e3f')
})

const { keyExchange, anonymous, unicode, extendedSessionSecurity } = NTLM_FLAG
const RIGHT: ClientAnswer = { user: 'account', password: 'key' }

const ANSWERS: readonly (readonly [string, ClientAnswer, boolean])[] = [
  ['the right key', RIGHT, true],
  ['the user in capitals', { ...RIGHT, user: 'ACCOUNT' }, true],
  ['a domain', { ...RIGHT, domain: 'Azure' }, true],
  ['without key exchange', { ...RIGHT, flags: CLIENT_FLAGS & ~keyExchange }, true],
  ['AV pairs without a terminator', { ...RIGHT, pairs: AV_HAS_MIC.subarray(0, 0) }, true],
  ['another key', { ...RIGHT, password: 'kex' }, false],
  ['a MIC announced but missing', { ...RIGHT, pairs: AV_HAS_MIC }, false],
  ['NTLMv1: 24 bytes', { ...RIGHT, ntResponse: Buffer.alloc(24) }, false],
  ['no NT response', { ...RIGHT, ntResponse: Buffer.alloc(0) }, false],
  ['a response of version 2', { ...RIGHT, ntResponse: Buffer.alloc(60, 2) }, false],
  ['anonymous', { user: '', password: 'key', ntResponse: Buffer.alloc(0) }, false],
  ['a valid proof without a user', { ...RIGHT, user: '' }, false],
  ['the anonymous flag', { ...RIGHT, flags: CLIENT_FLAGS | anonymous }, false],
]

function exchangeOf(clientFlags: number): NtlmExchange {
  const serverChallenge = Buffer.from('0123456789abcdef', 'hex')
  const flags = challengeFlags(clientFlags)
  const names = { nbName: 'LAZULI', dnsName: 'lazuli.local', dnsDomain: 'local' }
  const challenge = encodeChallenge({ flags, serverChallenge, names, timestamp: 1n })
  return { negotiate: negotiateMessage(clientFlags), challenge, serverChallenge, flags }
}

for (const [what, answer, isRight] of ANSWERS) {
  test(`${what}: ${isRight ? 'accepted' : 'refused'}`, () => {
    const exchange = exchangeOf(CLIENT_FLAGS)
    const message = decodeAuthenticate(authenticateMessage(exchange.challenge, answer))
    const session = verifyAuthenticate(exchange, message, [ntHashOf('key')])
    assert.equal(session !== undefined, isRight)
    const hasKeyExchange = (message.flags & keyExchange) !== 0
    if (isRight && hasKeyExchange) assert.deepEqual(session?.sessionKey, SESSION_KEY)
  })
}

test('a MIC that the client announces is checked', () => {
  const exchange = exchangeOf(CLIENT_FLAGS)
  const answer = { ...RIGHT, pairs: AV_HAS_MIC, mic: exchange }
  const message = authenticateMessage(exchange.challenge, answer)
  assert(verifyAuthenticate(exchange, decodeAuthenticate(message), [ntHashOf('key')]) !== undefined)
  const changed = { ...exchange, challenge: Buffer.from(exchange.challenge).fill(0, 56) }
  assert.equal(
    verifyAuthenticate(changed, decodeAuthenticate(message), [ntHashOf('key')]),
    undefined,
  )
})

test('a key exchange that was not offered is ignored', () => {
  const exchange = exchangeOf(CLIENT_FLAGS & ~keyExchange)
  const message = decodeAuthenticate(authenticateMessage(exchange.challenge, RIGHT))
  const session = verifyAuthenticate(exchange, message, [ntHashOf('key')])
  assert.notDeepEqual(session?.sessionKey, SESSION_KEY)
})

test('there is no signature without extended session security', () => {
  const session = { sessionKey: SESSION_KEY, flags: CLIENT_FLAGS & ~extendedSessionSecurity }
  assert.equal(ntlmSignature(session, 'client-to-server', Buffer.alloc(4)), undefined)
})

test('without key exchange, a signature contains the plain checksum of [MS-NLMP] 4.2.4.4', () => {
  const session = { sessionKey: Buffer.alloc(16, 0x55), flags: CLIENT_FLAGS & ~keyExchange }
  const signature = ntlmSignature(session, 'client-to-server', Buffer.from('Plaintext', 'utf16le'))
  assert.equal(signature?.toString('hex'), '0100000070352851f256430900000000')
})

test('a client without Unicode is refused', () => {
  const negotiate = negotiateMessage(CLIENT_FLAGS & ~unicode)
  assert.throws(() => decodeNegotiate(negotiate), SecurityTokenError)
})

test('any bytes decode or throw a SecurityTokenError', () => {
  const seeds = [...RECORDED.slice(0, 2).map(({ blobs }) => tokenOf(blobs[3])), negotiateMessage()]
  const decoders = [
    decodeNegotiate,
    decodeNtlmV2Response,
    (bytes: Buffer) => decodeNtlmV2Response(decodeAuthenticate(bytes).ntResponse),
  ]
  const decode = (bytes: Buffer) => {
    for (const decoder of decoders) {
      try {
        decoder(bytes)
      } catch (error) {
        assert(error instanceof SecurityTokenError)
      }
    }
  }
  const change = fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => decode(Buffer.from(bytes))),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(fc.constantFrom(...seeds), change, fc.nat(500), (seed, changes, end) => {
      const bytes = Buffer.from(seed.subarray(0, end))
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
      decode(bytes)
      decode(bytes.subarray(0x70))
    }),
    { numRuns: 4000 },
  )
})
