// The state of the running server: connections, sessions, trees and handles, all of this process. What others must
// see of an open is a volatile record (storage/file/open/open.ts).
import type { NtlmServerNames } from '../auth/smb/ntlm-message.ts'
import type { SmbLoginState } from '../auth/smb/smb-login.ts'
import type { SmbUsers } from '../auth/smb/smb-users.ts'
import type { Control } from '../control/control.ts'
import type { ExtentStore } from '../extent/extent.ts'
import type { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { Moment } from '../node/moment.ts'
import type { FileKv, FileOpen } from '../storage/file/open/open.ts'
import type { CreateAction } from '../storage/file/open/smb-open.ts'
import type { SmbIdentity } from '../storage/file/security/smb-identity.ts'
import type { Accounts } from '../storage/shared/account.ts'
import type { Pipe } from './rpc/pipe.ts'
import type { CipherId, Dialect, Signing } from './session/dialect.ts'
import type { LoginReport } from './session/login-report.ts'
import type { Signer } from './session/sign.ts'
import type { Decryptor, Encryptor } from './session/transform.ts'
import type { FileId } from './wire/file-id.ts'

export type SmbSecuritySettings = {
  readonly signing: 'required' | 'enabled'
  readonly encryption: 'required' | 'enabled' | 'off'
}

/** The part of the state that all connections share. */
export type SmbWorld = {
  readonly control: Pick<Control, 'watching' | 'journal'>
  readonly kv: FileKv
  readonly extents: ExtentStore
  readonly accounts: Accounts
  /** Users besides the accounts. */
  readonly users?: SmbUsers | undefined
  readonly settings: SmbSecuritySettings
  readonly names: NtlmServerNames
  readonly serverGuid: Buffer
  readonly startedMs: number
  newId(): number
  moment(): Moment
  random(lengthBytes: number): Buffer
  /** Calls `then` after the delay on the clock of `moment`, unless the returned function cancels it. */
  readonly after: (delayMs: number, then: () => unknown) => () => void
  /** The same on the machine's clock, for what protects the server: that clock can't be held. */
  readonly afterRealTime: (delayMs: number, then: () => unknown) => () => void
  logFault(error: unknown): void
  reportLogin(report: LoginReport): void
  readonly sessions: Map<bigint, Session>
  /** Handles of all sessions, and durable ones that wait for their client to reconnect. */
  readonly handles: Map<bigint, Handle>
  /** CREATEs that can be replayed, by client and CreateGuid (create-replay.ts). */
  readonly creates: Map<string, FileHandle | 'pending'>
  /** Open connections. */
  readonly connections: Set<Connection>
  /** The memory of connections without a login. */
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
  readonly cipher: CipherId | undefined
  readonly signing: Signing
}

/** A login in progress, which takes several SESSION_SETUPs. */
export type Login = {
  readonly state: SmbLoginState
  /** SMB 3.1.1: the hash of this login's messages so far. */
  readonly preauthHash: Buffer
}

export type Connection = {
  readonly clientIp: string
  readonly clientPort: number
  /** The address to which the client connected. */
  readonly serverIp: string
  negotiated: Negotiated | undefined
  preauthHash: Buffer
  readonly logins: Map<bigint, Login>
  /** Sessions that have a channel on this connection. */
  readonly sessions: Map<bigint, Session>
  /** Signers of sessions that another connection ended: the client accepts only a signed USER_SESSION_DELETED. */
  readonly endedSessions: Map<bigint, Signer>
  /** Sends a message without a request, such as a break notification: unsigned, and encrypted for `session`. */
  notify(session: Session | undefined, command: number, body: Buffer): void
  readonly isClosed: boolean
  /** The number of delayed responses (SmbReply.delayMs). */
  readonly delayedCount: number
  drop(): void
}

export type Session = {
  readonly id: bigint
  /** The account; '' after the client has re-authenticated as anonymous. */
  user: string
  /** A user, to whom security descriptors apply; undefined: the account itself, to which none apply. */
  identity: SmbIdentity | undefined
  readonly dialect: Dialect
  readonly clientGuid: Buffer
  /** The algorithm of the first channel. It also signs the binding of further channels. */
  readonly signing: Signing
  readonly signingKey: Buffer
  readonly cipher: CipherId | undefined
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
      /** The SID of the user who connected it. */
      readonly sid: string | undefined
      readonly isEncryptionRequired: boolean
    }

export type DiskTree = Extract<Tree, { kind: 'disk' }>

/**
 * What this process knows of an open besides its record. It starts with CREATE and ends with CLOSE, with its
 * session or, if it is durable, when its client does not reconnect in time.
 */
export type Handle = PipeHandle | FileHandle

type AnyHandle = {
  readonly fileId: FileId
  /** undefined while a durable handle waits for its client. */
  session: Session | undefined
  tree: Tree | undefined
}

export type PipeHandle = AnyHandle & { readonly kind: 'pipe'; readonly pipe: Pipe }

export type FileHandle = AnyHandle & {
  readonly kind: 'file'
  /** The record as last written. The one in the store is authoritative. */
  open: FileOpen
  /** FILE_POSITION_INFORMATION */
  position: number
  /** FILE_MODE_INFORMATION: the create options that stay in effect. */
  mode: number
  /** [MS-SMB2] 3.3.5.14: lock sequence numbers by bucket. */
  readonly lockSequences: Map<number, number>
  /** State of a command for the life of the handle, such as a directory scan, by the command's key. */
  readonly commandState: Map<string, unknown>
  /** Set if the handle outlives its connection. */
  durable?: Durable
  /** Identifies a replay of its CREATE. */
  createKey?: CreateKey
  appInstance?: {
    readonly id: string
    readonly account: string
    readonly sid: string | undefined
    readonly clientGuid: string
  }
  /** The channel sequence as of the last request on the handle. */
  channels?: ChannelState
  /** Called when the handle ends, before its record is removed, to end whatever waits on it. */
  readonly onClose: Set<() => void>
}

export type Durable = {
  readonly kind: 'v1' | 'v2' | 'persistent' | 'resilient'
  readonly timeoutMs: number
  /** The owner, and the share of the file. */
  readonly account: string
  readonly sid: string | undefined
  readonly share: string
  /** In hexadecimal. */
  readonly clientGuid: string
  readonly createGuid: string | undefined
  /** Set while it waits for its client. */
  cancelTimer?: () => void
}

/** Identifies a CREATE with a DH2Q context by its client and CreateGuid, for as long as its open exists. */
export type CreateKey = { readonly key: string; readonly action: CreateAction }

export type ChannelState = {
  sequence: number
  /** Requests in progress with this sequence number, and with earlier ones. */
  current: number
  earlier: number
}
