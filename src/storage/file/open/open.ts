// The volatile records of SMB clients (kv/volatile.ts): opens with their access and share mode, byte-range locks,
// oplocks and leases, and delete-pending marks. The SMB server writes them; REST obeys them (rest-access.ts) and lists
// them as handles.
import type { EventKv, Key, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import {
  cacheKey,
  cachesRange,
  deletePendingKey,
  lockKey,
  locksRange,
  openKey,
  opensRange,
} from '../keys.ts'

/** FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_SHARE_DELETE ([MS-SMB2] 2.2.13) */
export const SHARE_READ = 1
export const SHARE_WRITE = 2
export const SHARE_DELETE = 4

/** SMB2_LEASE_READ_CACHING, …HANDLE…, …WRITE… ([MS-SMB2] 2.2.13.2.8); oplocks are mapped to the same three. */
export const CACHE_READ = 1
export const CACHE_HANDLE = 2
export const CACHE_WRITE = 4

/** An open of a file or directory by an SMB client. */
export type FileOpen = {
  /** HandleId; unique in the store. */
  readonly openId: number
  readonly shareId: number
  readonly nodeId: number
  readonly parentId: number
  /** As opened, with slashes; empty for the root. */
  readonly path: string
  readonly isDirectory: boolean
  /** The granted access mask ([MS-SMB2] 2.2.13.1). */
  readonly access: number
  /** SHARE_READ, SHARE_WRITE, SHARE_DELETE */
  readonly shareAccess: number
  readonly sessionId: string
  readonly clientIp: string
  readonly clientName?: string
  readonly openedMs: number
  readonly reconnectedMs?: number
  /** FILE_DELETE_ON_CLOSE was requested. */
  readonly deleteOnClose?: boolean
  /** FILE_DISPOSITION_POSIX_SEMANTICS: closing this handle removes the name, even if others have the file open. */
  readonly isPosixDelete?: boolean
  /** The CacheHolder of this open. */
  readonly holder?: string
  /** The snapshot that it reads. */
  readonly snapshot?: number
  /** Set if the open survives a restart of the server. */
  readonly persistent?: PersistentTerms
}

/** Who may reconnect to a persistent open, and until when ([MS-SMB2] 3.3.5.9.10). */
export type PersistentTerms = {
  readonly account: string
  /** The SID of a user; left out, the account itself. */
  readonly sid?: string
  readonly share: string
  readonly clientGuid: string
  readonly createGuid: string
  readonly timeoutMs: number
  /** FILE_MODE_INFORMATION */
  readonly mode: number
}

/** A locked byte range. The length may be 0. Offset and length are u64, which exceed a number, hence strings. */
export type FileLock = {
  readonly openId: number
  readonly offset: string
  readonly length: string
  readonly isExclusive: boolean
}

/** A client's permission to cache a file: the oplock of one open, or a lease shared by several. */
export type CacheHolder = {
  readonly holder: string
  readonly kind: 'oplock' | 'lease'
  /** CACHE_READ, CACHE_HANDLE, CACHE_WRITE */
  readonly state: number
  /** The state that a break in progress leads to. */
  readonly breakingTo?: number
  /** The state that later breaks require; sent to the client after its acknowledgement. */
  readonly breakingToRequired?: number
  /** For a lease: its version, and how often its state has changed. */
  readonly version?: 1 | 2
  readonly epoch?: number
}

/** Events announced to the process when a transaction is done. */
export type FileEvent =
  /** The SMB server sends the holder's client a break notification. */
  | {
      readonly kind: 'break'
      readonly shareId: number
      readonly nodeId: number
      readonly holder: string
      readonly from: number
      readonly to: number
      /** The epoch of the lease after this change. */
      readonly epoch: number
      /** An operation waits for the client's acknowledgement. */
      readonly isAwaited: boolean
    }
  /** A holder acknowledged or ended, an open was closed or a range unlocked: waiting operations retry. */
  | { readonly kind: 'released'; readonly shareId: number; readonly nodeId: number }
  /** A node was marked for deletion: if it is a directory, requests that watch it end. */
  | { readonly kind: 'deletePending'; readonly shareId: number; readonly nodeId: number }
  /** REST force-closed a handle: the SMB server releases it. */
  | { readonly kind: 'close'; readonly open: FileOpen }
  /** Something in a directory changed: feeds CHANGE_NOTIFY. */
  | {
      readonly kind: 'change'
      readonly shareId: number
      /** Directory and name; `from` is the old place of a renamed node. */
      readonly directoryId: number
      readonly name: string
      readonly action: 'added' | 'removed' | 'modified' | 'renamed'
      readonly from?: { readonly directoryId: number; readonly name: string }
      readonly isDirectory: boolean
      /** The matching FILE_NOTIFY_CHANGE_* bits ([MS-SMB2] 2.2.35). */
      readonly filter: number
    }

export type FileKv = EventKv<FileEvent>
export type FileTx = Tx<FileEvent>

const COUNT = 1_000

function* recordsOf<T>(tx: ReadTx, range: { readonly from: Key; readonly to: Key }): Step<T[]> {
  const entries = yield* scanAll(tx, range, COUNT)
  return entries.length === 0 ? [] : entries.map(({ value }) => decodeRecord<T>(value))
}

export function opensOf<T extends FileOpen = FileOpen>(
  tx: ReadTx,
  shareId: number,
  nodeId: number,
): Step<T[]> {
  return recordsOf<T>(tx, opensRange(shareId, nodeId))
}

/** The current record of the open; undefined if it has been closed. */
export function* getOpen(
  tx: ReadTx,
  { shareId, nodeId, openId }: Pick<FileOpen, 'shareId' | 'nodeId' | 'openId'>,
): Step<FileOpen | undefined> {
  const value = yield* tx.get(openKey(shareId, nodeId, openId))
  return value === undefined ? undefined : decodeRecord<FileOpen>(value)
}

export function locksOf(tx: ReadTx, shareId: number, nodeId: number): Step<FileLock[]> {
  return recordsOf<FileLock>(tx, locksRange(shareId, nodeId))
}

export function holdersOf<T extends CacheHolder = CacheHolder>(
  tx: ReadTx,
  shareId: number,
  nodeId: number,
): Step<T[]> {
  return recordsOf<T>(tx, cachesRange(shareId, nodeId))
}

export function* isDeletePending(tx: ReadTx, shareId: number, nodeId: number): Step<boolean> {
  return (yield* tx.get(deletePendingKey(shareId, nodeId))) !== undefined
}

export function putOpen(tx: Tx, open: FileOpen): void {
  tx.put(openKey(open.shareId, open.nodeId, open.openId), encodeRecord(open))
}

export function deleteOpen(tx: Tx, open: Pick<FileOpen, 'shareId' | 'nodeId' | 'openId'>): void {
  tx.delete(openKey(open.shareId, open.nodeId, open.openId))
}

export function putLock(
  tx: Tx,
  { shareId, nodeId }: Pick<FileOpen, 'shareId' | 'nodeId'>,
  index: number,
  lock: FileLock,
): void {
  tx.put(lockKey(shareId, nodeId, lock.openId, index), encodeRecord(lock))
}

export function putHolder(
  tx: Tx,
  { shareId, nodeId }: Pick<FileOpen, 'shareId' | 'nodeId'>,
  holder: CacheHolder,
): void {
  tx.put(cacheKey(shareId, nodeId, holder.holder), encodeRecord(holder))
}

export function deleteHolder(
  tx: Tx,
  { shareId, nodeId }: Pick<FileOpen, 'shareId' | 'nodeId'>,
  holder: string,
): void {
  tx.delete(cacheKey(shareId, nodeId, holder))
}

export function setDeletePending(
  tx: FileTx,
  { shareId, nodeId }: Pick<FileOpen, 'shareId' | 'nodeId'>,
  isPending: boolean,
): void {
  const key = deletePendingKey(shareId, nodeId)
  if (!isPending) return tx.delete(key)
  tx.put(key, encodeRecord({}))
  tx.announce({ kind: 'deletePending', shareId, nodeId })
}
