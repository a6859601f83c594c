// A handle: what this process knows of an open besides its record. It is made by CREATE and ends with CLOSE,
// with its session, or, if it is durable, when nobody has come back for it in time.
import type { FileOpen } from '../storage/file/open.ts'
import type { Session, Tree } from './call.ts'
import type { ChannelState } from './channel-sequence.ts'
import type { CreateKey, Durable } from './durable.ts'
import type { Pipe } from './rpc/pipe.ts'
import type { FileId } from './wire/file-id.ts'

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
