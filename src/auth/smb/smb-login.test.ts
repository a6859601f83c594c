import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { authenticateMessage, clientMic, mechTypeList } from '../../../test/smb/ntlm-client.ts'
import { negotiateMessage, negTokenInit, SESSION_KEY } from '../../../test/smb/ntlm-client.ts'
import { RECORDED } from '../../../test/smb/recorded.ts'
import { accountKey, type Account, type Accounts } from '../../storage/shared/account.ts'
import { smbIdentity } from '../../storage/file/security/smb-identity.ts'
import { ntHashOf } from './ntlm.ts'
import { stepSmbLogin, type SmbLoginState, type SmbLoginWorld } from './smb-login.ts'
import type { SmbUser } from './smb-users.ts'
import { decodeSpnego, encodeNegTokenResp, MECHANISM, NEG_STATE } from './spnego.ts'

const KEYS = ['a2V5IDE=', 'a2V5IDI=']

function accountsOf(...accounts: readonly Account[]): Accounts {
  return {
    get: (name) => accounts.find((account) => account.name === name),
    names: () => accounts.map(({ name }) => name),
  }
}

const WORLD: SmbLoginWorld = {
  accounts: accountsOf(
    { name: 'account1', keys: KEYS.map(accountKey) },
    { name: 'Mixed', keys: [accountKey('mixed')] },
  ),
  names: { nbName: 'LAZULI', dnsName: 'lazuli.local', dnsDomain: 'local' },
  nowMs: Date.UTC(2026, 0, 15),
  random: (lengthBytes) => Buffer.alloc(lengthBytes, 0x5a),
}

const ADA = smbIdentity('account1', 'Ada')
const USER_LIST: ReadonlyMap<string, SmbUser> = new Map([
  ['ada', { account: 'account1', ntHash: ntHashOf('pass:word 1'), identity: ADA }],
  ['lost', { account: 'gone', ntHash: ntHashOf('lost'), identity: smbIdentity('gone', 'lost') }],
  ['account1', { account: 'Mixed', ntHash: ntHashOf('x'), identity: smbIdentity('Mixed', 'x') }],
])
const WITH_USERS: SmbLoginWorld = {
  ...WORLD,
  users: { get: (name) => USER_LIST.get(name.toLowerCase()) },
}

// A name that is both an account's and a user's means the account.
for (const [user, password, outcome] of [
  ['ada', 'pass:word 1', 'account1 as Ada'],
  ['ADA', 'pass:word 1', 'account1 as Ada'],
  ['ada', 'pass:word 2', 'refused'],
  ['ada', 'a2V5IDE=', 'refused'],
  ['account1', 'a2V5IDE=', 'account1'],
  ['account1', 'x', 'refused'],
  ['lost', 'lost', 'refused'],
  ['nobody', 'pass:word 1', 'refused'],
] as const) {
  test(`with a list of users: ${user} with ${password} → ${outcome}`, () => {
    const { blob, state } = challenged(undefined, negotiateMessage(), WITH_USERS)
    const message = authenticateMessage(blob, { user, password })
    const step = stepSmbLogin(state, message, WITH_USERS)
    if (step.kind !== 'accepted') return assert.equal(step.kind, outcome)
    const { identity } = step
    assert.equal(identity === undefined ? step.user : `${step.user} as ${identity.name}`, outcome)
    if (identity !== undefined) assert.equal(identity.sid, ADA.sid)
  })
}

const NTLM_ONLY = mechTypeList(MECHANISM.ntlmssp)
const KERBEROS_FIRST = mechTypeList(MECHANISM.kerberos, MECHANISM.ntlmssp)

function challenged(state: SmbLoginState | undefined, blob: Buffer, world = WORLD) {
  const step = stepSmbLogin(state, blob, world)
  assert(step.kind === 'challenge')
  return step
}

/** The CHALLENGE within an answer. */
function challengeIn(blob: Buffer): Buffer {
  const token = decodeSpnego(blob)
  assert(token.kind === 'response' && token.responseToken !== undefined)
  return token.responseToken
}

/** A client's NegTokenResp. Its negState does not matter; clients leave it out. */
function reply(responseToken: Buffer, mechListMic?: Buffer): Buffer {
  return encodeNegTokenResp({ negState: NEG_STATE.acceptIncomplete, responseToken, mechListMic })
}

for (const { name, user, password, sessionKey, serverChallenge, blobs } of RECORDED) {
  test(`${name}: the answers equal the recorded ones`, () => {
    const [, first, challenge, second, accepted] = blobs
    const world: SmbLoginWorld = {
      accounts: accountsOf({ name: user.toUpperCase(), keys: [accountKey(password)] }),
      names: { nbName: 'TSAMBA2', dnsName: 'vm', dnsDomain: '' },
      nowMs: 0,
      random: () => serverChallenge,
    }
    const { blob, state } = challenged(undefined, first, world)
    // All but the Timestamp, which is finer than our clock.
    const withoutTime = (bytes: Buffer) =>
      Buffer.concat([bytes.subarray(0, -12), bytes.subarray(-4)])
    assert.deepEqual(withoutTime(blob), withoutTime(challenge))
    assert(state.kind === 'challenged')
    const exchange = { ...state.exchange, challenge: challengeIn(challenge) }
    const step = stepSmbLogin({ ...state, exchange }, second, world)
    const expected = { kind: 'accepted', blob: accepted, user: user.toUpperCase(), sessionKey }
    assert.deepEqual(step, expected)
    const changed = Buffer.from(second)
    changed[changed.length - 5] = (changed.at(-5) ?? 0) ^ 1
    assert.equal(
      stepSmbLogin({ ...state, exchange }, changed, world).kind,
      'refused',
      'mechListMIC',
    )
  })
}

const USERS: readonly (readonly [string, string, string | undefined])[] = [
  ['account1', 'a2V5IDE=', 'account1'],
  ['account1', 'a2V5IDI=', 'account1'],
  ['Account1', 'a2V5IDE=', 'account1'],
  ['mixed', 'mixed', 'Mixed'],
  ['account1', 'mixed', undefined],
  ['account2', 'a2V5IDE=', undefined],
  ['guest', '', undefined],
  ['', '', undefined],
]

for (const [user, password, account] of USERS) {
  const outcome = account ?? 'refused'

  test(`raw NTLMSSP: ${user} with ${password} → ${outcome}`, () => {
    const { blob, state } = challenged(undefined, negotiateMessage())
    const step = stepSmbLogin(state, authenticateMessage(blob, { user, password }), WORLD)
    const accepted = { user: account, blob: Buffer.alloc(0), sessionKey: SESSION_KEY }
    const reason = user === 'account1' ? 'password' : 'user'
    const refused = { kind: 'refused', reason, name: user }
    assert.deepEqual(step, account ? { kind: 'accepted', ...accepted } : refused)
  })

  test(`SPNEGO without a mechListMIC: ${user} with ${password} → ${outcome}`, () => {
    const { blob, state } = challenged(undefined, negTokenInit(NTLM_ONLY, negotiateMessage()))
    const message = authenticateMessage(challengeIn(blob), { user, password })
    const step = stepSmbLogin(state, reply(message), WORLD)
    assert.equal(step.kind === 'accepted' ? step.user : step.kind, outcome)
    if (step.kind === 'accepted') assert.equal(step.blob.toString('hex'), 'a1073005a0030a0100')
  })
}

test('if the client prefers another mechanism, it starts again with NTLMSSP and must send a mechListMIC', () => {
  const named = challenged(undefined, negTokenInit(KERBEROS_FIRST, Buffer.from('a ticket')))
  assert.deepEqual(decodeSpnego(named.blob), {
    kind: 'response',
    negState: NEG_STATE.acceptIncomplete,
    supportedMech: MECHANISM.ntlmssp,
    responseToken: undefined,
    mechListMic: undefined,
  })
  const { blob, state } = challenged(named.state, reply(negotiateMessage()))
  const message = authenticateMessage(challengeIn(blob), { user: 'account1', password: 'a2V5IDE=' })
  const accepted = stepSmbLogin(state, reply(message, clientMic(KERBEROS_FIRST)), WORLD)
  assert(accepted.kind === 'accepted')
  assert.equal(decodeSpnego(accepted.blob).mechListMic?.length, 16)
  for (const [what, wrong] of [
    ['no mechListMIC', reply(message)],
    ['of another list', reply(message, clientMic(NTLM_ONLY))],
    ['cut short', reply(message, clientMic(KERBEROS_FIRST).subarray(1))],
    ['SPNEGO dropped halfway', message],
  ] as const) {
    assert.equal(stepSmbLogin(state, wrong, WORLD).kind, 'refused', what)
  }
})

test('the token of the preferred mechanism may come in the second message', () => {
  const named = challenged(undefined, negTokenInit(NTLM_ONLY))
  const { blob, state } = challenged(named.state, reply(negotiateMessage()))
  const message = authenticateMessage(challengeIn(blob), { user: 'account1', password: 'a2V5IDE=' })
  assert.equal(stepSmbLogin(state, reply(message), WORLD).kind, 'accepted')
})

test('the CHALLENGE contains the given time and random bytes', () => {
  const { blob } = challenged(undefined, negotiateMessage())
  assert.deepEqual(blob.subarray(24, 32), Buffer.alloc(8, 0x5a))
  const filetime = blob.readBigUInt64LE(blob.length - 12)
  assert.equal(Number(filetime / 10_000n) - 11_644_473_600_000, WORLD.nowMs)
})

test('the state keeps a copy of the message', () => {
  const first = negotiateMessage()
  const { state } = challenged(undefined, first)
  first.fill(0)
  assert(state.kind === 'challenged')
  assert.deepEqual(state.exchange.negotiate, negotiateMessage())
})

const MISPLACED: readonly (readonly [string, Buffer, reason?: string])[] = [
  [
    'SPNEGO without NTLMSSP',
    negTokenInit(mechTypeList(MECHANISM.kerberos, MECHANISM.msKerberos)),
    'mechanism',
  ],
  ['SPNEGO with no mechanism at all', negTokenInit(mechTypeList()), 'mechanism'],
  ['a NegTokenResp before a NegTokenInit', reply(negotiateMessage())],
  [
    'an AUTHENTICATE before a NEGOTIATE',
    authenticateMessage(Buffer.alloc(56), { user: 'a', password: '' }),
  ],
  ['a CHALLENGE', Buffer.from('4e544c4d5353500002000000', 'hex')],
  ['the signature of NTLMSSP alone', Buffer.from('NTLMSSP\0')],
]

for (const [what, blob, reason = 'sequence'] of MISPLACED) {
  test(`refused at the start: ${what}`, () => {
    assert.deepEqual(stepSmbLogin(undefined, blob, WORLD), { kind: 'refused', reason })
  })
}

for (const [what, blob] of [
  ['no bytes', Buffer.alloc(0)],
  ['not DER', Buffer.from('6005ff', 'hex')],
] as const) {
  test(`malformed: ${what}`, () => {
    assert.deepEqual(stepSmbLogin(undefined, blob, WORLD), { kind: 'malformed' })
  })
}

test('a token of more than 8 KiB is refused, except a Kerberos ticket, which is not read', () => {
  const padding = Buffer.alloc(8 * 1024)
  const long = Buffer.concat([negotiateMessage(), padding])
  assert.equal(stepSmbLogin(undefined, long, WORLD).kind, 'malformed')
  assert.equal(stepSmbLogin(undefined, negTokenInit(NTLM_ONLY, long), WORLD).kind, 'malformed')
  const { state } = challenged(undefined, negTokenInit(NTLM_ONLY, negotiateMessage()))
  assert.equal(stepSmbLogin(state, reply(long), WORLD).kind, 'malformed')
  const named = challenged(undefined, negTokenInit(KERBEROS_FIRST, padding))
  assert(named.state.offer !== undefined)
  const { buffer } = named.state.offer.mechTypeList
  assert(buffer.byteLength <= 8 * 1024, 'the ticket is not kept')
})

test('a login without name and proof is anonymous', () => {
  const { blob, state } = challenged(undefined, negotiateMessage())
  const nobody = { user: '', password: '', ntResponse: Buffer.alloc(0) }
  const step = stepSmbLogin(state, authenticateMessage(blob, nobody), WORLD)
  assert.deepEqual(step, { kind: 'anonymous', blob: Buffer.alloc(0) })
})

test('any bytes get an answer, and none logs in', () => {
  const named = challenged(undefined, negTokenInit(KERBEROS_FIRST))
  const { state } = challenged(undefined, negTokenInit(NTLM_ONLY, negotiateMessage()))
  const raw = challenged(undefined, negotiateMessage())
  const seeds = [...(RECORDED[0]?.blobs ?? []), reply(negotiateMessage()), negotiateMessage()]
  const change = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 })
  fc.assert(
    fc.property(
      fc.constantFrom(undefined, named.state, state, raw.state),
      fc.oneof(fc.uint8Array(), fc.constantFrom(...seeds)),
      change,
      (from, seed, changes) => {
        const bytes = Buffer.from(seed)
        for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte
        assert.notEqual(stepSmbLogin(from, bytes, WORLD).kind, 'accepted')
      },
    ),
    { numRuns: 3000 },
  )
})
