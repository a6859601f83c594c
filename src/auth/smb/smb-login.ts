// The login of an SMB session: what to answer to the security blob of each SESSION_SETUP. A user is an
// account, the password one of its keys' texts; or one with a name and a password of its own. Pure: time,
// chance, accounts and users come in with each step, and what must be remembered between steps goes out as
// a value.
import { timingSafeEqual } from 'node:crypto'
import type { Account, Accounts } from '../../storage/shared/account.ts'
import type { SmbIdentity } from '../../storage/file/security/smb-identity.ts'
import { anonymousSession, ntHashOf, ntlmSignature, verifyAuthenticate } from './ntlm.ts'
import type { NtlmExchange, NtlmSession } from './ntlm.ts'
import { challengeFlags, decodeAuthenticate, decodeNegotiate } from './ntlm-message.ts'
import { encodeChallenge, isNtlmMessage, type NtlmServerNames } from './ntlm-message.ts'
import { SecurityTokenError } from './security-token-error.ts'
import type { SmbUsers } from './smb-users.ts'
import { decodeSpnego, encodeNegTokenResp, MECHANISM, NEG_STATE } from './spnego.ts'
import type { NegTokenInit, NegTokenResp } from './spnego.ts'

export type SmbLoginWorld = {
  readonly accounts: Accounts
  /** Absent: only accounts log in. */
  readonly users?: Pick<SmbUsers, 'get'> | undefined
  readonly names: NtlmServerNames
  readonly nowMs: number
  /** Bytes that nobody can guess. */
  random(lengthBytes: number): Uint8Array
}

/** The client's list of mechanisms, to be protected by a mechListMIC. Absent: no SPNEGO. */
type Offer = { readonly mechTypeList: Buffer; readonly isMicRequired: boolean }

export type SmbLoginState =
  /** The mechanism was named; its first token is to come. */
  | { readonly kind: 'named'; readonly offer: Offer }
  | {
      readonly kind: 'challenged'
      readonly offer: Offer | undefined
      readonly exchange: NtlmExchange
    }

export type SmbLoginStep =
  | { readonly kind: 'challenge'; readonly blob: Buffer; readonly state: SmbLoginState }
  | {
      readonly kind: 'accepted'
      readonly blob: Buffer
      /** The account's name as it is configured, however the client wrote it. */
      readonly user: string
      /** Who it is; absent: the account itself. */
      readonly identity?: SmbIdentity
      readonly sessionKey: Buffer
    }
  /** Nobody, and no proof: whether that is a login is up to the caller. */
  | { readonly kind: 'anonymous'; readonly blob: Buffer }
  | Refused
  /** The bytes are no token at all, or too many. */
  | { readonly kind: 'malformed' }

/** For the log and the metrics; the client is not told. */
export type SmbLoginRefusal =
  /** SPNEGO without NTLMSSP. */
  | 'mechanism'
  /** A message that does not belong here. */
  | 'sequence'
  | 'user'
  /** Or NTLMv1, or a message that was changed on its way. */
  | 'password'
  /** The list of mechanisms was changed on its way. */
  | 'mechListMic'

type Refused = {
  readonly kind: 'refused'
  readonly reason: SmbLoginRefusal
  /** The name as the client sent it, once there is one. */
  readonly name?: string
}

/** Without a user: anonymous. */
type Authentication = {
  readonly kind: 'authenticated'
  readonly user: string | undefined
  readonly identity?: SmbIdentity
  readonly session: NtlmSession
}

const CHALLENGE_BYTES = 8
/** NTLM's messages have some hundred bytes. */
const TOKEN_BYTES_MAX = 8 * 1024
const FILETIME_EPOCH_MS = 11_644_473_600_000

const MALFORMED: SmbLoginStep = { kind: 'malformed' }

/** In memory of its own: a piece of Buffer's pool would keep all of the pool. */
function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.alloc(bytes.length)
  copy.set(bytes)
  return copy
}

function refused(reason: SmbLoginRefusal, name?: string): Refused {
  return { kind: 'refused', reason, ...(name !== undefined && { name }) }
}

/** One SESSION_SETUP. `state` is what the step before gave; undefined begins anew. */
export function stepSmbLogin(
  state: SmbLoginState | undefined,
  blob: Uint8Array,
  world: SmbLoginWorld,
): SmbLoginStep {
  // A copy, for parts of it are remembered and the caller may reuse its memory.
  const bytes = ownCopy(blob)
  try {
    const isTooLong = bytes.length > TOKEN_BYTES_MAX
    if (isNtlmMessage(bytes)) return isTooLong ? MALFORMED : stepRaw(state, bytes, world)
    const token = decodeSpnego(bytes)
    // A ticket of Kerberos may be long. Nobody reads it, and nothing of it is kept.
    const isTicket = token.kind === 'init' && token.mechTypes[0] !== MECHANISM.ntlmssp
    if (isTooLong && !isTicket) return MALFORMED
    return token.kind === 'init' ? begin(token, world) : proceed(state, token, world)
  } catch (error) {
    if (error instanceof SecurityTokenError) return MALFORMED
    throw error
  }
}

/** NTLMSSP without SPNEGO, as the Linux kernel sends it; answered likewise. */
function stepRaw(
  state: SmbLoginState | undefined,
  bytes: Buffer,
  world: SmbLoginWorld,
): SmbLoginStep {
  if (bytes.length > 8 && bytes[8] === 1) {
    const exchange = challenge(bytes, world)
    const next = { kind: 'challenged', offer: undefined, exchange } as const
    return { kind: 'challenge', blob: exchange.challenge, state: next }
  }
  // Leaving SPNEGO half-way would leave its list of mechanisms unprotected.
  if (state?.kind !== 'challenged' || state.offer !== undefined) return refused('sequence')
  const authentication = authenticate(state.exchange, bytes, world)
  if (authentication.kind === 'refused') return authentication
  return outcome(authentication, Buffer.alloc(0))
}

/**
 * RFC 4178, 4.2.1: a token that came along belongs to the mechanism that the client prefers. If that one
 * isn't ours, ours is named, the client starts again with it, and the mechListMIC becomes obligatory.
 */
function begin(token: NegTokenInit, world: SmbLoginWorld): SmbLoginStep {
  const { mechTypes, mechTypeList, mechToken } = token
  if (!mechTypes.includes(MECHANISM.ntlmssp)) return refused('mechanism')
  if (mechTypeList.length > TOKEN_BYTES_MAX) return MALFORMED
  const isPreferred = mechTypes[0] === MECHANISM.ntlmssp
  const offer: Offer = { mechTypeList: ownCopy(mechTypeList), isMicRequired: !isPreferred }
  if (isPreferred && mechToken !== undefined) {
    return wrapChallenge(offer, challenge(mechToken, world), MECHANISM.ntlmssp)
  }
  const negState = NEG_STATE.acceptIncomplete
  const blob = encodeNegTokenResp({ negState, supportedMech: MECHANISM.ntlmssp })
  return { kind: 'challenge', blob, state: { kind: 'named', offer } }
}

function proceed(
  state: SmbLoginState | undefined,
  token: NegTokenResp,
  world: SmbLoginWorld,
): SmbLoginStep {
  const { responseToken, mechListMic } = token
  if (state?.offer === undefined || responseToken === undefined) return refused('sequence')
  const { offer } = state
  // supportedMech stands in the first reply only (RFC 4178, 4.2.2).
  if (state.kind === 'named') return wrapChallenge(offer, challenge(responseToken, world))
  const authentication = authenticate(state.exchange, responseToken, world)
  if (authentication.kind === 'refused') return authentication
  const { session, user, identity } = authentication
  if (!isMechListMicRight(offer, session, mechListMic)) {
    return refused('mechListMic', identity?.name ?? user)
  }
  const answer = mechListMic && ntlmSignature(session, 'server-to-client', offer.mechTypeList)
  const negState = NEG_STATE.acceptCompleted
  return outcome(authentication, encodeNegTokenResp({ negState, mechListMic: answer }))
}

function outcome({ user, identity, session }: Authentication, blob: Buffer): SmbLoginStep {
  if (user === undefined) return { kind: 'anonymous', blob }
  const { sessionKey } = session
  return { kind: 'accepted', blob, user, ...(identity && { identity }), sessionKey }
}

function wrapChallenge(offer: Offer, exchange: NtlmExchange, supportedMech?: string): SmbLoginStep {
  const negState = NEG_STATE.acceptIncomplete
  const responseToken = exchange.challenge
  const blob = encodeNegTokenResp({ negState, supportedMech, responseToken })
  return { kind: 'challenge', blob, state: { kind: 'challenged', offer, exchange } }
}

function challenge(negotiate: Buffer, world: SmbLoginWorld): NtlmExchange {
  const flags = challengeFlags(decodeNegotiate(negotiate).flags)
  const serverChallenge = ownCopy(world.random(CHALLENGE_BYTES))
  const timestamp = BigInt(Math.floor(world.nowMs + FILETIME_EPOCH_MS)) * 10_000n
  const message = encodeChallenge({ flags, serverChallenge, names: world.names, timestamp })
  return { negotiate, challenge: ownCopy(message), serverChallenge, flags }
}

function authenticate(
  exchange: NtlmExchange,
  bytes: Buffer,
  { accounts, users }: SmbLoginWorld,
): Authentication | Refused {
  const message = decodeAuthenticate(bytes)
  const anonymous = anonymousSession(exchange, message)
  const kind = 'authenticated'
  if (anonymous !== undefined) return { kind, user: undefined, session: anonymous }
  const account = findAccount(accounts, message.user)
  if (account !== undefined) {
    const hashes = account.keys.map(({ text }) => ntHashOf(text))
    const session = verifyAuthenticate(exchange, message, hashes)
    return session ? { kind, user: account.name, session } : refused('password', message.user)
  }
  const known = users?.get(message.user)
  // Its account may have gone since the list of users was read.
  if (known === undefined || accounts.get(known.account) === undefined) {
    return refused('user', message.user)
  }
  const { identity, ntHash, account: user } = known
  const session = verifyAuthenticate(exchange, message, [ntHash])
  return session ? { kind, user, identity, session } : refused('password', message.user)
}

/** Users of SMB have no case; names of accounts usually are small letters, so the first try finds them. */
function findAccount(accounts: Accounts, user: string): Account | undefined {
  const wanted = user.toLowerCase()
  const known = accounts.get(user) ?? accounts.get(wanted)
  if (known !== undefined) return known
  const name = accounts.names().find((name) => name.toLowerCase() === wanted)
  return name === undefined ? undefined : accounts.get(name)
}

function isMechListMicRight(
  offer: Offer,
  session: NtlmSession,
  given: Buffer | undefined,
): boolean {
  if (given === undefined) return !offer.isMicRequired
  const expected = ntlmSignature(session, 'client-to-server', offer.mechTypeList)
  return expected?.length === given.length && timingSafeEqual(expected, given)
}
