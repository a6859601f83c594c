// What a command works with: the world, the connection that it came on, its session and tree, and the chain
// that it is a part of.
import type { SmbIdentity } from '../storage/file/security/smb-identity.ts'
import type { Signer } from './session/sign.ts'
import { SmbError } from './smb-error.ts'
import { isFileIdAllOnes, type FileId } from './wire/file-id.ts'
import type { COMMAND, Smb2Header } from './wire/header.ts'
import type { NtStatusName } from './wire/status.ts'
import type { Connection, DiskTree, Handle, Session, SmbWorld, Tree } from './world.ts'

/** What the parts of a compound hand on. */
export type Chain = {
  isRelated: boolean
  /** Of the part before: what all ones mean. */
  fileId: FileId | undefined
  /** Of a CREATE before, if it failed: what all parts related to it are answered. */
  failed: NtStatusName | undefined
  /** There is no part before, or it named a session or tree that is not there: nothing can be related to it. */
  isLost: boolean
  sessionId: bigint
  treeId: number
}

export type SmbCall = {
  readonly world: SmbWorld
  readonly connection: Connection
  readonly header: Smb2Header
  /** One message, from its header on. */
  readonly message: Buffer
  readonly chain: Chain
  /** The session that the message was sealed by. */
  readonly sealedBy: Session | undefined
  readonly session: Session | undefined
  readonly tree: Tree | undefined
  /**
   * The command has to wait: tells the client so, once. `cancel` is called when the client takes the command
   * back or the connection ends; the command then ends by itself, with CANCELLED for the first of the two.
   */
  goAsync(cancel: () => void): void
}

export type SmbReply = {
  /** SUCCESS, or one of those that are no errors and have a body. */
  readonly status?: NtStatusName
  readonly body: readonly [Buffer, ...Buffer[]]
  /** The open that later parts of the chain mean by all ones. */
  readonly fileId?: FileId
  /** Called with the message as it goes over the wire, before it does. */
  readonly encoded?: (message: readonly Buffer[]) => void
  /** Called when nobody needs the body's memory any more: the kernel has it. */
  readonly sent?: () => void
  /** The header's, where the request could not know it: the first answer of a login. */
  readonly sessionId?: bigint
  readonly treeId?: number
  /** Signed with this, whatever the request was: the end of a login. */
  readonly signer?: Signer
  /** The answer is held back for so long. Meanwhile nothing is kept but its few bytes. */
  readonly delayMs?: number
}

/** A row of the table of commands (smb/command/commands.ts). */
export type SmbCommand = {
  readonly name: keyof typeof COMMAND
  /** 'none': before there is a session; 'tree': a session and a tree. */
  readonly needs: 'none' | 'session' | 'tree'
  run(call: SmbCall): Promise<SmbReply> | SmbReply
}

export function requireSession({ session }: Pick<SmbCall, 'session'>): Session {
  if (session === undefined) throw new SmbError('USER_SESSION_DELETED')
  return session
}

/** The same account, and the same of its users. */
export function isSameUser(
  a: Pick<Session, 'user' | 'identity'>,
  b: { readonly user: string; readonly identity?: SmbIdentity | undefined },
): boolean {
  return a.user === b.user && a.identity?.sid === b.identity?.sid
}

export function requireTree({ tree }: Pick<SmbCall, 'tree'>): Tree {
  if (tree === undefined) throw new SmbError('NETWORK_NAME_DELETED')
  return tree
}

export function requireDisk(call: Pick<SmbCall, 'tree'>): DiskTree {
  const tree = requireTree(call)
  if (tree.kind !== 'disk') throw new SmbError('INVALID_DEVICE_REQUEST')
  return tree
}

/** A client that uses what it has opened has got the answer of its CREATE: there is nothing to replay. */
export function forgetReplay({ creates }: Pick<SmbWorld, 'creates'>, handle: Handle): void {
  const key = handle.kind === 'file' ? handle.createKey?.key : undefined
  if (key !== undefined && creates.get(key) === handle) creates.delete(key)
}

/** The open that a request names, or that the part before in its chain has opened. */
export function requireHandle(call: SmbCall, fileId: FileId): Handle {
  const { chain } = call
  const isChained = chain.isRelated && isFileIdAllOnes(fileId)
  const named = isChained ? chain.fileId : fileId
  const session = requireSession(call)
  const handle = named && session.handles.get(named.volatile)
  if (handle === undefined || handle.fileId.persistent !== named?.persistent) {
    throw new SmbError('FILE_CLOSED')
  }
  if (handle.tree !== call.tree) throw new SmbError('FILE_CLOSED')
  // The parts that follow may mean it, too.
  chain.fileId = handle.fileId
  forgetReplay(call.world, handle)
  return handle
}
