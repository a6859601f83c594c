// Runs one message: finds its command, checks its signature, finds its session and tree, and encodes errors.
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { ConnectionReset } from '../../control/point.ts'
import { COMMANDS } from '../command/commands.ts'
import type { Chain, SmbCommand, SmbReply } from '../call.ts'
import type { Connection, Session, SmbWorld, Tree } from '../world.ts'
import { DIALECT } from '../session/dialect.ts'
import { createSigner, isSigned, type Signer } from '../session/sign.ts'
import { DropConnection, SmbError, smbErrorOf } from '../smb-error.ts'
import { runWatched } from './watch.ts'
import { COMMAND, HEADER_FLAG, type Smb2Header } from '../wire/header.ts'
import { errorBody, type NtStatusName } from '../wire/status.ts'

export type Incoming = {
  readonly world: SmbWorld
  readonly connection: Connection
  readonly header: Smb2Header
  readonly message: Buffer
  readonly chain: Chain
  readonly sealedBy: Session | undefined
  goAsync(cancel: () => void): void
}

export type Outgoing = SmbReply & { readonly status: NtStatusName }

/** The one place where errors become responses. Only DropConnection is thrown. */
export async function dispatch(incoming: Incoming): Promise<Outgoing> {
  const { chain, header, connection } = incoming
  let signer: Signer | undefined
  try {
    beginPart(chain, header)
    if (connection.negotiated === undefined && header.command !== COMMAND.NEGOTIATE) {
      throw new DropConnection('a command before NEGOTIATE')
    }
    // A signed request gets a signed response ([MS-SMB2] 3.3.4.1.1), even if the session ends meanwhile.
    signer = findSigner(incoming)
    const command = COMMANDS[header.command]
    if (command === undefined || (chain.isRelated && chain.isLost)) {
      throw new SmbError('INVALID_PARAMETER')
    }
    checkSignature(incoming, signer)
    const session = findSession(incoming, command)
    const tree = findTree(incoming, command, session)
    chain.isLost = false
    if (chain.isRelated && chain.failed !== undefined) throw new SmbError(chain.failed)
    const reply = await runWatched(command, { ...incoming, session, tree })
    endPart(chain, reply)
    return { status: 'SUCCESS', ...(signer && { signer }), ...reply }
  } catch (error) {
    if (error instanceof DropConnection) throw error
    if (error instanceof ConnectionReset) throw new DropConnection('a fault was asked for')
    // The client connects again, here or through another node, and repeats what it may repeat.
    if (error instanceof StoreUnavailable) throw new DropConnection('the store is unavailable')
    const refusal = smbErrorOf(error)
    if (refusal === undefined) incoming.world.logFault(error)
    const { status, errorData } = refusal ?? new SmbError('INTERNAL_ERROR')
    if (header.command === COMMAND.CREATE) chain.failed = status
    return { status, body: [errorBody(errorData)], ...(signer && { signer }) }
  }
}

/** A related part inherits session, tree and file from the previous one ([MS-SMB2] 3.3.5.2.7.2). */
function beginPart(chain: Chain, { flags, sessionId, treeId }: Smb2Header): void {
  chain.isRelated = (flags & HEADER_FLAG.related) !== 0
  if (chain.isRelated && !chain.isLost) return
  chain.isLost = true
  chain.sessionId = sessionId
  chain.treeId = treeId
  chain.fileId = undefined
  chain.failed = undefined
}

function endPart(chain: Chain, { fileId, sessionId, treeId }: SmbReply): void {
  if (sessionId !== undefined) chain.sessionId = sessionId
  if (treeId !== undefined) chain.treeId = treeId
  if (fileId === undefined) return
  chain.fileId = fileId
  chain.failed = undefined
}

/**
 * The signer of the response; undefined if the request was not signed. The session's own key signs on a connection that
 * is not, or not yet, a channel of the session.
 */
function findSigner(incoming: Incoming): Signer | undefined {
  const { connection, chain, message, world, sealedBy } = incoming
  if (sealedBy !== undefined || !isSigned(message)) return undefined
  const session = world.sessions.get(chain.sessionId)
  if (session === undefined) return connection.endedSessions.get(chain.sessionId)
  return session.channels.get(connection) ?? createSigner(session.signing, session.signingKey)
}

/** [MS-SMB2] 3.3.5.2.4 */
function checkSignature({ header, message, sealedBy }: Incoming, signer: Signer | undefined): void {
  if (sealedBy !== undefined || !isSigned(message)) return
  if (header.command === COMMAND.NEGOTIATE) throw new SmbError('INVALID_PARAMETER')
  if (signer === undefined) throw new SmbError('USER_SESSION_DELETED')
  if (!signer.check(message)) throw new SmbError('ACCESS_DENIED')
}

function findSession(incoming: Incoming, command: SmbCommand): Session | undefined {
  const { connection, chain, sealedBy } = incoming
  const session = connection.sessions.get(chain.sessionId)
  if (sealedBy !== undefined && sealedBy !== session) throw new SmbError('USER_SESSION_DELETED')
  if (session === undefined || !session.isValid) {
    if (command.needs === 'none') return undefined
    throw new SmbError('USER_SESSION_DELETED')
  }
  if (sealedBy === undefined) checkProtection(session, incoming, command)
  return session
}

/** [MS-SMB2] 3.3.5.2.4, 3.3.5.2.9: what a session requires of requests that are not encrypted. */
function checkProtection(
  session: Session,
  { message, connection }: Incoming,
  { name }: SmbCommand,
): void {
  const hasSignature = isSigned(message)
  // A re-authentication need not be encrypted: the signature proves that it comes from the session's client.
  if (name === 'SESSION_SETUP' && hasSignature) return
  const mustBeSigned =
    session.isSigningRequired ||
    (name === 'TREE_CONNECT' && connection.negotiated?.dialect === DIALECT.smb311)
  if (session.isEncryptionRequired || (mustBeSigned && !hasSignature)) {
    throw new SmbError('ACCESS_DENIED')
  }
}

function findTree(
  { chain, sealedBy }: Incoming,
  { needs, name }: SmbCommand,
  session: Session | undefined,
): Tree | undefined {
  if (needs !== 'tree') return undefined
  const tree = session?.trees.get(chain.treeId)
  if (tree === undefined) throw new SmbError('NETWORK_NAME_DELETED')
  if (tree.kind !== 'disk') return tree
  if (tree.isEncryptionRequired && sealedBy === undefined) throw new SmbError('ACCESS_DENIED')
  // After a re-authentication as another user, old handles still work, but nothing new can be opened.
  const isOwn = tree.account === session?.user && tree.sid === session.identity?.sid
  if (name === 'CREATE' && !isOwn) throw new SmbError('ACCESS_DENIED')
  return tree
}
