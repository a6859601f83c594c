// The context of a command: the world, its connection, session and tree, and the compound that it is a part of.
import type { SmbIdentity } from '../storage/file/security/smb-identity.ts'
import type { Signer } from './session/sign.ts'
import { SmbError } from './smb-error.ts'
import { isFileIdAllOnes, type FileId } from './wire/file-id.ts'
import type { COMMAND, Smb2Header } from './wire/header.ts'
import type { NtStatusName } from './wire/status.ts'
import type { Connection, DiskTree, Handle, Session, SmbWorld, Tree } from './world.ts'

/** The state that one part of a compound passes to the next. */
export type Chain = {
  isRelated: boolean
  /** The open of the previous part, to which a FileId of all ones refers. */
  fileId: FileId | undefined
  /** The status of a failed CREATE. All parts related to it get the same status. */
  failed: NtStatusName | undefined
  /** There is no previous part, or its session or tree does not exist, so no part can be related to it. */
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
  /** The session whose keys encrypted the message; undefined if it was not encrypted. */
  readonly sealedBy: Session | undefined
  readonly session: Session | undefined
  readonly tree: Tree | undefined
  /**
   * Called when the command has to wait: sends an interim response, once. `cancel` is called when the client
   * cancels the command or the connection ends. The command must then finish, with CANCELLED in the first case.
   */
  goAsync(cancel: () => void): void
}

export type SmbReply = {
  /** SUCCESS by default, or another status that has a body. */
  readonly status?: NtStatusName
  readonly body: readonly [Buffer, ...Buffer[]]
  /** The open to which a FileId of all ones refers in later parts of the compound. */
  readonly fileId?: FileId
  /** Called with the encoded message before it is sent. */
  readonly encoded?: (message: readonly Buffer[]) => void
  /** Called when the kernel has the body, so that its memory can be reused. */
  readonly sent?: () => void
  /** For the header, if the request could not know it: in the first response of a login. */
  readonly sessionId?: bigint
  readonly treeId?: number
  /** Signs the response even if the request was not signed: the last response of a login. */
  readonly signer?: Signer
  /** Delays the response. Meanwhile only its few bytes stay in memory. */
  readonly delayMs?: number
}

/** A row of the table of commands (smb/command/commands.ts). */
export type SmbCommand = {
  readonly name: keyof typeof COMMAND
  /** 'none': runs without a session; 'tree': needs a session and a tree. */
  readonly needs: 'none' | 'session' | 'tree'
  run(call: SmbCall): Promise<SmbReply> | SmbReply
}

export function requireSession({ session }: Pick<SmbCall, 'session'>): Session {
  if (session === undefined) throw new SmbError('USER_SESSION_DELETED')
  return session
}

/** The same account, and the same user of it. */
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

/** A client that uses its handle has received the response to its CREATE, so it will not replay it. */
export function forgetReplay({ creates }: Pick<SmbWorld, 'creates'>, handle: Handle): void {
  const key = handle.kind === 'file' ? handle.createKey?.key : undefined
  if (key !== undefined && creates.get(key) === handle) creates.delete(key)
}

/** The open that a request names, or that of the previous part of its compound. */
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
  // Later parts may refer to it.
  chain.fileId = handle.fileId
  forgetReplay(call.world, handle)
  return handle
}
