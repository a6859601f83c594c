// SESSION_SETUP ([MS-SMB2] 3.3.5.5): a login in several rounds. It makes a session, proves again who has one, or
// makes its connection a further channel of one. The last answer is signed with the keys that the login gave.
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

/** What the login is for. */
type Purpose =
  | { readonly kind: 'new' }
  | { readonly kind: 'again'; readonly session: Session }
  | { readonly kind: 'bind'; readonly session: Session }

type FinalStep = Exclude<SmbLoginStep, { kind: 'challenge' }>

type Round = {
  readonly call: SmbCall
  readonly negotiated: Negotiated
  readonly request: SessionSetupRequest
  readonly purpose: Purpose
  readonly id: bigint
  /** 3.1.1: with this request. */
  readonly preauthHash: Buffer
}

/** Logins of one connection that have begun, or have failed and are not answered yet. */
const LOGINS_MAX = 4
/** As long as Windows waits by default (InvalidAuthenticationDelayTimeInMs). */
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
  if (session !== undefined) return { kind: 'again', session }
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
    // Who cannot prove again to be its user loses the session.
    if (purpose.kind === 'again') await endSession(world, purpose.session, 'ended')
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

/** What may have been a guess is answered late. */
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
    // Nobody gets no session, but who has one may step back from it: old handles go on, nothing new is opened.
    if (purpose.kind === 'new') return undefined
    // Its identity stays, for without one it would be above all descriptors.
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
    case 'again':
      // The keys stay as they are ([MS-SMB2] 3.3.5.5.3).
      purpose.session.user = user
      purpose.session.identity = identity
      return purpose.session
    case 'bind':
      if (!isSameUser(purpose.session, step)) throw new SmbError('ACCESS_DENIED')
      addChannel(purpose.session, connection, negotiated, { sessionKey, preauthHash })
      return purpose.session
  }
}

/** The client has lost its connection and is back before we have noticed. */
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
