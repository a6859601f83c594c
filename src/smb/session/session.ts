// The end of a session: at LOGOFF, with its last channel, or when the same client logs in again. Its opens end with it,
// except those that wait for their client to reconnect.
import { Turn } from '../../kv/turn.ts'
import type { Connection, Session, SmbWorld, Tree } from '../world.ts'
import { closeHandle, disconnectHandle } from '../handle/close.ts'
import type { Signer } from './sign.ts'

/** Removes a channel of the session. The session ends with the last one. */
export async function endSessionOn(
  world: SmbWorld,
  session: Session,
  connection: Connection,
): Promise<void> {
  session.channels.delete(connection)
  if (session.channels.size === 0) await endSession(world, session, 'lost')
}

/** 'lost': durable handles wait for their client; 'ended': everything is closed ([MS-SMB2] 3.3.5.6). */
export async function endSession(
  world: SmbWorld,
  session: Session,
  how: 'lost' | 'ended',
): Promise<void> {
  if (!session.isValid) return
  session.isValid = false
  world.sessions.delete(session.id)
  for (const [connection, signer] of session.channels) {
    connection.sessions.delete(session.id)
    addEndedSession(connection, session.id, signer)
  }
  session.channels.clear()
  const end = how === 'lost' ? disconnectHandle : closeHandle
  const turn = new Turn()
  for (const handle of session.handles.values()) {
    if (turn.isOver()) await turn.next()
    // A handle that can't be closed must not keep the others open.
    await end(world, handle).catch((error: unknown) => world.logFault(error))
  }
  session.trees.clear()
}

const ENDED_SESSIONS_MAX = 16

/** Evicts the oldest one. */
function addEndedSession({ endedSessions }: Connection, id: bigint, signer: Signer): void {
  endedSessions.set(id, signer)
  const [oldest] = endedSessions.keys()
  if (endedSessions.size > ENDED_SESSIONS_MAX && oldest !== undefined) endedSessions.delete(oldest)
}

/** TREE_DISCONNECT: the opens of the tree are closed ([MS-SMB2] 3.3.5.8). */
export async function endTree(world: SmbWorld, session: Session, tree: Tree): Promise<void> {
  session.trees.delete(tree.id)
  const turn = new Turn()
  for (const handle of session.handles.values()) {
    if (turn.isOver()) await turn.next()
    if (handle.tree === tree) await closeHandle(world, handle)
  }
}
