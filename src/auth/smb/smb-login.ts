// The login of an SMB session: answers the security blob of each SESSION_SETUP. The user is an account, with the text
// of one of its keys as the password, or an SMB user with a password of its own. Pure: time, randomness, accounts and
// users are arguments of each step, and the state between steps is a value.
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

/** The client's list of mechanisms, which a mechListMIC protects. */
type Offer = { readonly mechTypeList: Buffer; readonly isMicRequired: boolean }

export type SmbLoginState =
  /** The mechanism is chosen, but its first token has not arrived. */
  | { readonly kind: 'named'; readonly offer: Offer }
  | {
      readonly kind: 'challenged'
      /** undefined: NTLMSSP without SPNEGO. */
      readonly offer: Offer | undefined
      readonly exchange: NtlmExchange
    }

export type SmbLoginStep =
  | { readonly kind: 'challenge'; readonly blob: Buffer; readonly state: SmbLoginState }
  | {
      readonly kind: 'accepted'
      readonly blob: Buffer
      /** The account's name as configured, however the client wrote it. */
      readonly user: string
      /** The SMB user; absent: the account itself. */
      readonly identity?: SmbIdentity
      readonly sessionKey: Buffer
    }
  /** Neither name nor proof. The caller decides whether that is a login. */
  | { readonly kind: 'anonymous'; readonly blob: Buffer }
  | Refused
  /** The token can't be decoded or is too long. */
  | { readonly kind: 'malformed' }

/** For the log and the metrics; the client does not see it. */
export type SmbLoginRefusal =
  /** SPNEGO without NTLMSSP. */
  | 'mechanism'
  /** A message out of order. */
  | 'sequence'
  | 'user'
  /** Also NTLMv1, or a message that was changed in transit. */
  | 'password'
  /** The list of mechanisms was changed in transit. */
  | 'mechListMic'

type Refused = {
  readonly kind: 'refused'
  readonly reason: SmbLoginRefusal
  /** The name as the client sent it, once there is one. */
  readonly name?: string
}

/** Anonymous if there is no user. */
type Authentication = {
  readonly kind: 'authenticated'
  readonly user: string | undefined
  readonly identity?: SmbIdentity
  readonly session: NtlmSession
}

const CHALLENGE_BYTES = 8
/** NTLM messages have a few hundred bytes. */
const TOKEN_BYTES_MAX = 8 * 1024
const FILETIME_EPOCH_MS = 11_644_473_600_000

const MALFORMED: SmbLoginStep = { kind: 'malformed' }

/** Not Buffer.from: a slice of Buffer's pool would keep the whole pool alive. */
function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.alloc(bytes.length)
  copy.set(bytes)
  return copy
}

function refused(reason: SmbLoginRefusal, name?: string): Refused {
  return { kind: 'refused', reason, ...(name !== undefined && { name }) }
}

/** Handles one SESSION_SETUP. `state` is the result of the previous step; undefined starts a new login. */
export function stepSmbLogin(
  state: SmbLoginState | undefined,
  blob: Uint8Array,
  world: SmbLoginWorld,
): SmbLoginStep {
  // A copy, because the state keeps parts of it and the caller may reuse its memory.
  const bytes = ownCopy(blob)
  try {
    const isTooLong = bytes.length > TOKEN_BYTES_MAX
    if (isNtlmMessage(bytes)) return isTooLong ? MALFORMED : stepRaw(state, bytes, world)
    const token = decodeSpnego(bytes)
    // A Kerberos ticket may be long. It is neither read nor kept.
    const isTicket = token.kind === 'init' && token.mechTypes[0] !== MECHANISM.ntlmssp
    if (isTooLong && !isTicket) return MALFORMED
    return token.kind === 'init' ? begin(token, world) : proceed(state, token, world)
  } catch (error) {
    if (error instanceof SecurityTokenError) return MALFORMED
    throw error
  }
}

/** NTLMSSP without SPNEGO, as the Linux kernel sends it; the answer has no SPNEGO either. */
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
  // Dropping SPNEGO halfway would leave its list of mechanisms unprotected.
  if (state?.kind !== 'challenged' || state.offer !== undefined) return refused('sequence')
  const authentication = authenticate(state.exchange, bytes, world)
  if (authentication.kind === 'refused') return authentication
  return outcome(authentication, Buffer.alloc(0))
}

/**
 * RFC 4178, 4.2.1: the first token belongs to the mechanism that the client prefers. If that is not NTLMSSP, the
 * answer chooses NTLMSSP, the client starts again with it, and the mechListMIC becomes mandatory.
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
  // Only the first reply contains supportedMech (RFC 4178, 4.2.2).
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
  const smbUser = users?.get(message.user)
  // The account may have been removed since the list of users was loaded.
  if (smbUser === undefined || accounts.get(smbUser.account) === undefined) {
    return refused('user', message.user)
  }
  const { identity, ntHash, account: user } = smbUser
  const session = verifyAuthenticate(exchange, message, [ntHash])
  return session ? { kind, user, identity, session } : refused('password', message.user)
}

/** SMB user names are case-insensitive. Account names are usually in lower case, so a lookup finds most of them. */
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
