// What the server knows while it runs: connections, sessions, trees and handles, all of this process. What others
// must see of an open is a live record (storage/file/open/open.ts).
import type { NtlmServerNames } from '../auth/smb/ntlm-message.ts'
import type { SmbLoginState } from '../auth/smb/smb-login.ts'
import type { SmbUsers } from '../auth/smb/smb-users.ts'
import type { ExtentStore } from '../extent/extent.ts'
import type { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { Moment } from '../node/moment.ts'
import type { FileKv, FileOpen } from '../storage/file/open/open.ts'
import type { CreateAction } from '../storage/file/open/smb-open.ts'
import type { SmbIdentity } from '../storage/file/security/smb-identity.ts'
import type { Accounts } from '../storage/shared/account.ts'
import type { Pipe } from './rpc/pipe.ts'
import type { Cipher, Dialect, Signing } from './session/dialect.ts'
import type { LoginReport } from './session/login-report.ts'
import type { Signer } from './session/sign.ts'
import type { Decryptor, Encryptor } from './session/transform.ts'
import type { FileId } from './wire/file-id.ts'

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

// A handle: what this process knows of an open besides its record. It is made by CREATE and ends with CLOSE,
// with its session, or, if it is durable, when nobody has come back for it in time.
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
  /** As it was when it was last written; the record in the store is what counts. */
  open: FileOpen
  /** FILE_POSITION_INFORMATION */
  position: number
  /** FILE_MODE_INFORMATION: the create options that last. */
  mode: number
  /** [MS-SMB2] 3.3.5.14: lock sequence numbers by bucket. */
  readonly lockSequences: Map<number, number>
  /** What a command keeps for the life of the handle, such as a directory's listing; by the command. */
  readonly kept: Map<string, unknown>
  /** It outlives its connection. */
  durable?: Durable
  /** What a replay of its CREATE is known by. */
  createKey?: CreateKey
  appInstance?: {
    readonly id: string
    readonly account: string
    readonly sid: string | undefined
    readonly clientGuid: string
  }
  /** Of the session's channels, as of the last request on the handle. */
  channels?: ChannelState
  /** Called when the handle ends, before its record goes: ends what waits on it. */
  readonly onClose: Set<() => void>
}

export type Durable = {
  readonly kind: 'v1' | 'v2' | 'persistent' | 'resilient'
  readonly timeoutMs: number
  /** Whose it is, and the share that it is in. */
  readonly account: string
  readonly sid: string | undefined
  readonly share: string
  /** In hexadecimal. */
  readonly clientGuid: string
  readonly createGuid: string | undefined
  /** While it waits for its client. */
  cancelTimer?: () => void
}

/** A CREATE with a DH2Q context is known by its client and its CreateGuid, for as long as what it opened. */
export type CreateKey = { readonly key: string; readonly action: CreateAction }

export type ChannelState = {
  sequence: number
  /** Requests under way that were sent with this sequence number, and with those before. */
  current: number
  earlier: number
}
