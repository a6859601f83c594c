// SESSION_SETUP ([MS-SMB2] 3.3.5.5): a login in several rounds. It creates a session, re-authenticates one, or binds its
// connection to one as another channel. The last response is signed with the keys of the login.
import { stepSmbLogin, type SmbLoginStep } from '../../auth/smb/smb-login.ts'
import { isSameUser, type SmbCall, type SmbReply } from '../call.ts'
import type { Negotiated, Session } from '../world.ts'
import { extendPreauthHash } from '../session/key.ts'
import type { LoginOutcome } from '../session/login-report.ts'
import { addChannel, requireBindable } from '../session/session-channel.ts'
import { createSession, newSessionId } from '../session/session-new.ts'
import { endSession } from '../session/session.ts'
import { DropConnection, SmbError } from '../smb-error.ts'
import {
  decodeSessionSetupRequest,
  encodeSessionSetupResponse,
  SESSION_FLAG,
  SESSION_SETUP_FLAG,
  type SessionSetupRequest,
} from '../wire/session/session-setup.ts'
import { errorBody } from '../wire/status.ts'

type Purpose =
  | { readonly kind: 'new' }
  | { readonly kind: 'reauthenticate'; readonly session: Session }
  | { readonly kind: 'bind'; readonly session: Session }

type FinalStep = Exclude<SmbLoginStep, { kind: 'challenge' }>

type Round = {
  readonly call: SmbCall
  readonly negotiated: Negotiated
  readonly request: SessionSetupRequest
  readonly purpose: Purpose
  readonly id: bigint
  /** SMB 3.1.1: the hash including this request. */
  readonly preauthHash: Buffer
}

/** Per connection: logins in progress, and failed ones whose response is delayed. */
const LOGINS_MAX = 4
/** The default of Windows (InvalidAuthenticationDelayTimeInMs). */
const FAILURE_DELAY_MS = 2_000

export async function runSessionSetup(call: SmbCall): Promise<SmbReply> {
  const { connection, world, message, header } = call
  const { negotiated } = connection
  if (negotiated === undefined) throw new DropConnection('SESSION_SETUP before NEGOTIATE')
  const request = decodeSessionSetupRequest(message)
  const purpose = purposeOf(call, negotiated, request)
  const id = header.sessionId === 0n ? newSessionId(world, connection) : header.sessionId
  const login = connection.logins.get(id)
  const preauthHash = extendPreauthHash(login?.preauthHash ?? connection.preauthHash, message)
  const loginWorld = { ...world, nowMs: world.moment().nowMs }
  const step = stepSmbLogin(login?.state, request.securityBuffer, loginWorld)
  const round = { call, negotiated, request, purpose, id, preauthHash }
  if (step.kind === 'challenge') return challenge(round, step)
  connection.logins.delete(id)
  return await finish(round, step)
}

function purposeOf(call: SmbCall, negotiated: Negotiated, request: SessionSetupRequest): Purpose {
  const { connection, header } = call
  if ((request.flags & SESSION_SETUP_FLAG.binding) !== 0) {
    return { kind: 'bind', session: requireBindable(call, negotiated) }
  }
  const session = connection.sessions.get(header.sessionId)
  if (session !== undefined) return { kind: 'reauthenticate', session }
  if (header.sessionId !== 0n && !connection.logins.has(header.sessionId)) {
    throw new SmbError('USER_SESSION_DELETED')
  }
  return { kind: 'new' }
}

function challenge(round: Round, step: Extract<SmbLoginStep, { kind: 'challenge' }>): SmbReply {
  const { call, id, preauthHash } = round
  const { logins, delayedCount } = call.connection
  if (logins.size + delayedCount >= LOGINS_MAX && !logins.has(id)) {
    report(call, 'tooMany')
    throw new SmbError('INSUFFICIENT_RESOURCES')
  }
  const { state } = step
  logins.set(id, { state, preauthHash })
  return {
    status: 'MORE_PROCESSING_REQUIRED',
    body: [encodeSessionSetupResponse({ sessionFlags: 0, securityBuffer: step.blob })],
    sessionId: id,
    encoded: (sent) => {
      logins.set(id, { state, preauthHash: extendPreauthHash(preauthHash, ...sent) })
    },
  }
}

async function finish(round: Round, step: FinalStep): Promise<SmbReply> {
  const { call, id, purpose, request } = round
  const { world, connection } = call
  const session = sessionAfter(round, step)
  if (session === undefined || step.kind === 'refused' || step.kind === 'malformed') {
    // A failed re-authentication ends the session.
    if (purpose.kind === 'reauthenticate') await endSession(world, purpose.session, 'ended')
    return refuse(call, step)
  }
  if (step.kind === 'accepted') report(call, 'accepted', nameOf(step))
  if (purpose.kind === 'new') await endPrevious(call, session, request.previousSessionId)
  const signer = session.channels.get(connection)
  return {
    body: [
      encodeSessionSetupResponse({
        sessionFlags: sessionFlagsOf(session),
        securityBuffer: step.blob,
      }),
    ],
    sessionId: id,
    ...(signer && { signer }),
  }
}

/** A failed login is answered late, to slow down guessing. */
function refuse(call: SmbCall, step: FinalStep): SmbReply {
  report(call, step.kind === 'refused' ? step.reason : step.kind, nameOf(step))
  if (step.kind === 'malformed') throw new SmbError('INVALID_PARAMETER')
  return { status: 'LOGON_FAILURE', body: [errorBody()], delayMs: FAILURE_DELAY_MS }
}

function report({ world, connection }: SmbCall, outcome: LoginOutcome, name?: string): void {
  world.reportLogin({ outcome, name, clientIp: connection.clientIp })
}

function nameOf(step: FinalStep): string | undefined {
  if (step.kind === 'refused') return step.name
  return step.kind === 'accepted' ? (step.identity?.name ?? step.user) : undefined
}

/** undefined: refused. */
function sessionAfter(round: Round, step: FinalStep): Session | undefined {
  try {
    return applyLogin(round, step)
  } catch (error) {
    if (error instanceof SmbError) report(round.call, 'notAllowed', nameOf(step))
    throw error
  }
}

function applyLogin(round: Round, step: FinalStep): Session | undefined {
  const { call, negotiated, purpose, request, id, preauthHash } = round
  const { world, connection } = call
  if (step.kind === 'anonymous') {
    if (purpose.kind === 'bind') throw new SmbError('ACCESS_DENIED')
    // An anonymous login gets no session, but it may downgrade one: old handles still work, nothing new is opened.
    if (purpose.kind === 'new') return undefined
    // The identity stays: without one, no security descriptor would apply.
    purpose.session.user = ''
    return purpose.session
  }
  if (step.kind !== 'accepted') return undefined
  const { user, identity, sessionKey } = step
  switch (purpose.kind) {
    case 'new': {
      const { securityMode } = request
      const login = { id, user, identity, sessionKey, preauthHash, securityMode }
      return createSession(world, connection, negotiated, login)
    }
    case 'reauthenticate':
      // The keys do not change ([MS-SMB2] 3.3.5.5.3).
      purpose.session.user = user
      purpose.session.identity = identity
      return purpose.session
    case 'bind':
      if (!isSameUser(purpose.session, step)) throw new SmbError('ACCESS_DENIED')
      addChannel(purpose.session, connection, negotiated, { sessionKey, preauthHash })
      return purpose.session
  }
}

/** The client has lost its connection and logs in again before the server has noticed. */
async function endPrevious({ world }: SmbCall, session: Session, id: bigint): Promise<void> {
  const previous = world.sessions.get(id)
  if (previous === undefined || previous === session || !isSameUser(previous, session)) return
  await endSession(world, previous, 'lost')
}

function sessionFlagsOf({ user, isEncryptionRequired }: Session): number {
  return (
    (user === '' ? SESSION_FLAG.null : 0) | (isEncryptionRequired ? SESSION_FLAG.encryptData : 0)
  )
}
