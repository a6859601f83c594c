// REST operations on a file that SMB clients have open: the access each one takes, the caches it breaks first, and the
// conflicts that make it fail (the tables of "Manage file locks in Azure Files").
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import { prefixRange, type Needed, type ReadTx, type Step } from '../../../kv/kv.ts'
import { volatileKey } from '../../../kv/volatile.ts'
import { need } from '../../../kv/step.ts'
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

/** Opens for only attributes and synchronization never conflict ([MS-FSA] 2.1.5.1.2). */
export function sharedAccessOf(access: number): number {
  return (
    ((access & READ_DATA) !== 0 ? SHARE_READ : 0) |
    ((access & WRITE_DATA) !== 0 ? SHARE_WRITE : 0) |
    ((access & DELETE) !== 0 ? SHARE_DELETE : 0)
  )
}

type RestAccess = {
  /** The access to the file: it conflicts with opens that don't share it. */
  readonly access: number
  /** The cache states to break, and which of these breaks to wait for. */
  readonly drops: number
  readonly waitsFor: number
  /** Opens that conflict, whatever they share. */
  readonly refuses?: 'any' | 'writers'
  /** Byte-range locks that conflict: any, or only exclusive ones. */
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

/** SMB clients must give up cached data before the operation can proceed. */
export type BreaksNeeded = {
  readonly kind: 'breaks'
  readonly shareId: number
  readonly nodeId: number
  readonly breaks: readonly { readonly holder: string; readonly to: number }[]
}

export function isBreaks(needed: Needed): needed is BreaksNeeded {
  return needed.kind === 'breaks'
}

/** Usually no SMB client has anything open, and one look is enough (7 % of a Get File). */
const ANY_VOLATILE = { ...prefixRange(volatileKey()), countMax: 1 }

/** Checks a REST operation against the opens of a file. A read transaction has no `tx.announce`. */
export function* checkOpens(
  tx: ReadTx | FileTx,
  shareId: number,
  { nodeId }: Pick<FileNode, 'nodeId'>,
  operation: RestOperation,
  range: ByteRange = { from: 0, to: Infinity },
): Step<void> {
  if ((yield* tx.scanKeys(ANY_VOLATILE)).length === 0) return
  const rule: RestAccess = REST_ACCESS[operation]
  if (yield* isDeletePending(tx, shareId, nodeId)) throw new StorageError('SMBDeletePending')
  const all = yield* opensOf(tx, shareId, nodeId)
  if (all.length === 0) return
  // Opens in a snapshot never conflict: snapshots don't change.
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
    const needed: BreaksNeeded = { kind: 'breaks', ...at, breaks }
    yield* need(needed)
  }
  // No need to wait for these: the client only drops data that it has read.
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

/** A write conflicts with locks anywhere in the file; a read only with those in its range. */
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

/** Sends the breaks. Returns whether any holder still has to acknowledge. */
export function* askHolders(tx: FileTx, { shareId, nodeId, breaks }: BreaksNeeded): Step<boolean> {
  const holders = yield* holdersOf(tx, shareId, nodeId)
  let isHeld = false
  for (const { holder, to } of breaks) {
    const found = holders.find((each) => each.holder === holder)
    // This holder gave it up after the attempt, before we listened for it.
    if (found === undefined || (found.state & ~to) === 0) continue
    isHeld = true
    breakHolder(tx, { shareId, nodeId }, found, to, true)
  }
  return isHeld
}
