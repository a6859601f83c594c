// REST on a file that SMB clients have open: which access an operation takes, what it asks of the clients'
// caches first, and what it is refused with ("Manage file locks in Azure Files", whose tables these are).
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { breakHolder } from '../cache/cache-break.ts'
import type { FileNode } from '../tree/node.ts'
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  holdersOf,
  isDeletePending,
  locksOf,
  opensOf,
  SHARE_DELETE,
  SHARE_READ,
  SHARE_WRITE,
  type FileLock,
  type FileOpen,
  type FileTx,
} from './open.ts'

/** Bits of an access mask that read, write or delete a file's data ([MS-SMB2] 2.2.13.1.1). */
const READ_DATA = 0x1 | 0x20
const WRITE_DATA = 0x2 | 0x4
const DELETE = 0x1_0000

/** Attributes and synchronization alone neither conflict nor count ([MS-FSA] 2.1.5.1.2). */
export function sharedAccessOf(access: number): number {
  return (
    ((access & READ_DATA) !== 0 ? SHARE_READ : 0) |
    ((access & WRITE_DATA) !== 0 ? SHARE_WRITE : 0) |
    ((access & DELETE) !== 0 ? SHARE_DELETE : 0)
  )
}

type RestAccess = {
  /** Taken on the file: an open that does not share it is in the way. */
  readonly access: number
  /** What clients must no longer cache, and whether to wait until they don't. */
  readonly drops: number
  readonly waitsFor: number
  /** Opens of others that are in the way whatever they share. */
  readonly refuses?: 'any' | 'writers'
  /** Byte ranges that are in the way: all of them, or those in which nobody else may read. */
  readonly locks?: 'any' | 'exclusive'
}

const ALL = CACHE_READ | CACHE_WRITE | CACHE_HANDLE
const WRITE_ACCESS = {
  access: SHARE_WRITE,
  drops: ALL,
  waitsFor: CACHE_WRITE,
  locks: 'any',
} as const
const REPLACE_ACCESS = { ...WRITE_ACCESS, access: SHARE_WRITE | SHARE_DELETE } as const

// prettier-ignore
export const REST_ACCESS = {
  'List':            { access: 0, drops: 0, waitsFor: 0 },
  'Get Properties':  { access: 0, drops: CACHE_WRITE, waitsFor: CACHE_WRITE },
  'Get File':        { access: SHARE_READ, drops: CACHE_WRITE, waitsFor: CACHE_WRITE, locks: 'exclusive' },
  'List Ranges':     { access: SHARE_READ, drops: CACHE_WRITE, waitsFor: CACHE_WRITE },
  'Put Range':       WRITE_ACCESS,
  'Set Properties':  WRITE_ACCESS,
  'Set Metadata':    WRITE_ACCESS,
  'Create File':     REPLACE_ACCESS,
  'Copy File':       REPLACE_ACCESS,
  'Delete File':     { access: SHARE_DELETE, drops: CACHE_HANDLE, waitsFor: CACHE_HANDLE, refuses: 'any' },
  'Delete Directory':{ access: SHARE_DELETE, drops: CACHE_HANDLE, waitsFor: CACHE_HANDLE, refuses: 'any' },
  'Rename':          { access: SHARE_DELETE, drops: CACHE_HANDLE, waitsFor: CACHE_HANDLE },
  'Rename Target':   { access: SHARE_DELETE, drops: CACHE_HANDLE, waitsFor: CACHE_HANDLE, refuses: 'any' },
  'Acquire Lease':   { access: SHARE_READ | SHARE_WRITE | SHARE_DELETE, drops: ALL, waitsFor: CACHE_WRITE, refuses: 'writers' },
  'Lease':           { access: 0, drops: 0, waitsFor: 0 },
} as const satisfies Record<string, RestAccess>

export type RestOperation = keyof typeof REST_ACCESS

/** Clients must give up what they cache before the operation can be done; who throws it has changed nothing. */
export class BreaksNeeded extends Error {
  readonly shareId: number
  readonly nodeId: number
  readonly breaks: readonly { readonly holder: string; readonly to: number }[]

  constructor(shareId: number, nodeId: number, breaks: BreaksNeeded['breaks']) {
    super('SMB clients have to flush what they cache first')
    this.name = 'BreaksNeeded'
    this.shareId = shareId
    this.nodeId = nodeId
    this.breaks = breaks
  }
}

/** All that stands between a REST operation and a file that may be open. Reads pass no `tx.announce`. */
export function* checkOpens(
  tx: ReadTx | FileTx,
  shareId: number,
  { nodeId }: Pick<FileNode, 'nodeId'>,
  operation: RestOperation,
  range: ByteRange = { from: 0, to: Infinity },
): Step<void> {
  const rule: RestAccess = REST_ACCESS[operation]
  if (yield* isDeletePending(tx, shareId, nodeId)) throw new StorageError('SMBDeletePending')
  const all = yield* opensOf(tx, shareId, nodeId)
  if (all.length === 0) return
  // What is open in a snapshot of the share is another file: nobody changes it.
  const opens = all.filter((open) => open.snapshot === undefined)
  if (opens.length === 0) return
  yield* breakCaches(tx, { shareId, nodeId }, rule)
  checkShareModes(opens, rule)
  if (rule.locks !== undefined) {
    checkLocks(yield* locksOf(tx, shareId, nodeId), rule.locks, range)
  }
}

function* breakCaches(
  tx: ReadTx | FileTx,
  at: Pick<FileOpen, 'shareId' | 'nodeId'>,
  { drops, waitsFor }: RestAccess,
): Step<void> {
  const holders = yield* holdersOf(tx, at.shareId, at.nodeId)
  const losing = holders.filter(({ state }) => (state & drops) !== 0)
  const awaited = losing.filter(({ state }) => (state & waitsFor) !== 0)
  if (awaited.length > 0) {
    const breaks = awaited.map(({ holder, state }) => ({ holder, to: state & ~drops }))
    throw new BreaksNeeded(at.shareId, at.nodeId, breaks)
  }
  // Nobody waits for these: the client drops what it has read.
  for (const holder of losing)
    if ('announce' in tx) breakHolder(tx, at, holder, holder.state & ~drops, false)
}

function checkShareModes(opens: readonly FileOpen[], { access, refuses }: RestAccess): void {
  for (const open of opens) {
    const theirs = sharedAccessOf(open.access)
    if (refuses === 'any') throw new StorageError('SharingViolation')
    if (refuses === 'writers' && (theirs & (SHARE_WRITE | SHARE_DELETE)) !== 0) {
      throw new StorageError('SharingViolation')
    }
    if (theirs !== 0 && (access & ~open.shareAccess) !== 0)
      throw new StorageError('SharingViolation')
  }
}

/** A write needs the whole file; a read only what it reads. */
function checkLocks(
  locks: readonly FileLock[],
  which: 'any' | 'exclusive',
  range: ByteRange,
): void {
  const isInTheWay = (lock: FileLock): boolean =>
    which === 'any' || (lock.isExclusive && overlaps(lock, range))
  if (locks.some(isInTheWay)) throw new StorageError('FileLockConflict')
}

function overlaps({ offset, length }: FileLock, { from, to }: ByteRange): boolean {
  const start = BigInt(offset)
  const end = start + BigInt(length)
  const isBefore = to !== Infinity && start >= BigInt(to)
  return !isBefore && end > BigInt(from)
}

/** Whether any of them still has what it is asked for. */
export function* askHolders(tx: FileTx, { shareId, nodeId, breaks }: BreaksNeeded): Step<boolean> {
  const holders = yield* holdersOf(tx, shareId, nodeId)
  let isHeld = false
  for (const { holder, to } of breaks) {
    const found = holders.find((each) => each.holder === holder)
    // Who has given it up since the attempt said so before anybody listened.
    if (found === undefined || (found.state & ~to) === 0) continue
    isHeld = true
    breakHolder(tx, { shareId, nodeId }, found, to, true)
  }
  return isHeld
}
