// What a command works with: the world, the connection that it came on, its session and tree, and the chain
// that it is a part of. Sessions, trees and handles are of this process; what others must see of an open is a
// live record (storage/file/open.ts).
import type { Accounts } from '../storage/account.ts'
import type { NtlmServerNames } from '../auth/ntlm-message.ts'
import type { SmbLoginState } from '../auth/smb-login.ts'
import type { SmbUsers } from '../auth/smb-users.ts'
import type { UnauthenticatedMemory } from '../auth/unauthenticated-memory.ts'
import type { ExtentStore } from '../extent/extent.ts'
import type { FileKv } from '../storage/file/open.ts'
import type { SmbIdentity } from '../storage/file/smb-identity.ts'
import type { Moment } from '../storage/moment.ts'
import type { Cipher, Dialect, Signing } from './dialect.ts'
import type { FileHandle, Handle } from './handle.ts'
import type { LoginReport } from './login-report.ts'
import type { Signer } from './sign.ts'
import { SmbError } from './smb-error.ts'
import type { Decryptor, Encryptor } from './transform.ts'
import { isFileIdAllOnes, type FileId } from './wire/file-id.ts'
import type { COMMAND, Smb2Header } from './wire/header.ts'
import type { NtStatusName } from './wire/status.ts'

export type SmbSettings = {
  readonly signing: 'required' | 'enabled'
  readonly encryption: 'required' | 'enabled' | 'off'
}

/** The server, as all connections share it. */
export type SmbWorld = {
  readonly kv: FileKv
  readonly extents: ExtentStore
  readonly accounts: Accounts
  /** Who logs in besides accounts. */
  readonly users?: SmbUsers | undefined
  readonly settings: SmbSettings
  readonly names: NtlmServerNames
  readonly serverGuid: Buffer
  readonly startedMs: number
  newId(): number
  moment(): Moment
  random(lengthBytes: number): Buffer
  /** Calls back after that time unless it is taken back. */
  after(delayMs: number, then: () => void): () => void
  logFault(error: unknown): void
  reportLogin(report: LoginReport): void
  readonly sessions: Map<bigint, Session>
  /** Of all sessions, and those that wait for their client to come back. */
  readonly handles: Map<bigint, Handle>
  /** CREATEs that can be replayed, by client and CreateGuid (create-replay.ts). */
  readonly creates: Map<string, FileHandle | 'pending'>
  /** Live connections. */
  readonly connections: Set<Connection>
  /** What those of them hold on which nobody has logged in. */
  readonly unauthenticated: UnauthenticatedMemory
}

/** What NEGOTIATE agreed on. */
export type Negotiated = {
  readonly dialect: Dialect
  readonly clientGuid: Buffer
  readonly clientCapabilities: number
  readonly clientSecurityMode: number
  readonly capabilities: number
  readonly securityMode: number
  readonly cipher: Cipher | undefined
  readonly signing: Signing
}

/** A login that goes on over several SESSION_SETUPs. */
export type Login = {
  readonly state: SmbLoginState
  /** 3.1.1: over the messages of this login so far. */
  readonly preauthHash: Buffer
}

export type Connection = {
  readonly clientIp: string
  readonly clientPort: number
  /** Where the client has reached us. */
  readonly serverIp: string
  negotiated: Negotiated | undefined
  preauthHash: Buffer
  readonly logins: Map<bigint, Login>
  /** Those that have a channel on this connection. */
  readonly sessions: Map<bigint, Session>
  /** Of sessions that were ended from elsewhere: the client believes only a signed USER_SESSION_DELETED. */
  readonly endedSessions: Map<bigint, Signer>
  /** Sends a message that no request asked for: break notifications, unsigned, sealed where the session is. */
  notify(session: Session | undefined, command: number, body: Buffer): void
  readonly isClosed: boolean
  /** Answers that are held back (SmbReply.delayMs). */
  readonly delayedCount: number
  drop(): void
}

export type Session = {
  readonly id: bigint
  /** The account; '' when nobody is logged in any more: a client may re-authenticate as anonymous. */
  user: string
  /** A user with a name of its own, whom security descriptors count for; undefined: the account, above all of them. */
  identity: SmbIdentity | undefined
  readonly dialect: Dialect
  readonly clientGuid: Buffer
  /** Of the channel on which it was set up: signs the binding of further ones. */
  readonly signing: Signing
  readonly signingKey: Buffer
  readonly cipher: Cipher | undefined
  readonly encryptor: Encryptor | undefined
  readonly decryptor: Decryptor | undefined
  readonly isSigningRequired: boolean
  readonly isEncryptionRequired: boolean
  readonly channels: Map<Connection, Signer>
  readonly trees: Map<number, Tree>
  readonly handles: Map<bigint, Handle>
  nextTreeId: number
  isValid: boolean
}

export type Tree =
  | { readonly id: number; readonly kind: 'pipe' }
  | {
      readonly id: number
      readonly kind: 'disk'
      readonly account: string
      /** The share's name. */
      readonly share: string
      readonly shareId: number
      /** Of the identity that it was connected by. */
      readonly sid: string | undefined
      readonly isEncryptionRequired: boolean
    }

export type DiskTree = Extract<Tree, { kind: 'disk' }>

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

/** A row of the table of commands (command/commands.ts). */
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
