// Byte-range locks ([MS-FSA] 2.1.4.10, 2.1.5.7, 2.1.5.8): which reads and writes they forbid, and which of them
// conflict. Offsets use all 64 bits, far beyond any file: clients use locks as signals.
import type { Key, ReadTx, Step } from '../../../kv/kv.ts'
import { decodeKey } from '../../../kv/key.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { StorageError } from '../../shared/error.ts'
import { locksRange, openKey } from '../keys.ts'
import { breakForWrite } from '../cache/smb-cache.ts'
import { locksOf, putLock, type FileLock, type FileOpen, type FileTx } from './open.ts'

type LockRange = { readonly offset: bigint; readonly length: bigint }
export type LockElement = LockRange & { readonly isExclusive: boolean }

const RANGE_END = 1n << 64n
const COUNT = 1_000

/** Per open. */
const LOCK_COUNT_MAX = 10_000

export function isLockRange({ offset, length }: LockRange): boolean {
  return length === 0n || offset + length <= RANGE_END
}

/** An empty range overlaps a range that starts before it and ends after it. */
export function overlaps(a: LockRange, b: LockRange): boolean {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length
}

/** Whether a held lock conflicts with a wanted one. Two shared locks never conflict. */
export function conflicts(held: FileLock, wanted: LockElement, openId: number): boolean {
  if (!held.isExclusive && !wanted.isExclusive) return false
  // A shared lock may overlap an exclusive one of the same open.
  if (held.isExclusive && !wanted.isExclusive && held.openId === openId) return false
  return overlaps(rangeOf(held), wanted)
}

/** Whether a held lock forbids this open to read or write. A shared lock forbids its owner to write, too. */
export function forbids(
  held: FileLock,
  range: LockRange,
  access: 'read' | 'write',
  openId: number,
): boolean {
  if (!held.isExclusive && access === 'read') return false
  if (held.isExclusive && held.openId === openId) return false
  return overlaps(rangeOf(held), range)
}

/** Throws if a lock forbids the access. */
export function* checkLocks(
  tx: ReadTx,
  { shareId, nodeId, openId, snapshot }: FileOpen,
  { from, to }: { readonly from: number; readonly to: number },
  access: 'read' | 'write',
): Step<void> {
  if (snapshot !== undefined) return
  const range = { offset: BigInt(from), length: BigInt(to - from) }
  const locks = yield* locksOf(tx, shareId, nodeId)
  if (locks.some((held) => forbids(held, range, access, openId))) {
    throw new StorageError('FileLockConflict')
  }
}

/** Takes all locks or none. The wanted locks may conflict with each other, too. */
export function* addLocks(
  tx: FileTx,
  open: FileOpen,
  wanted: readonly LockElement[],
): Step<'locked' | 'conflict' | 'tooMany' | 'closed'> {
  const { shareId, nodeId, openId } = open
  // The open may have been closed while the request waited; a lock without its open would never be removed.
  const record = yield* tx.get(openKey(shareId, nodeId, openId))
  if (record === undefined) return 'closed'
  const held = yield* locksOf(tx, shareId, nodeId)
  const own = yield* ownLocks(tx, open)
  if (own.length + wanted.length > LOCK_COUNT_MAX) return 'tooMany'
  const added: FileLock[] = []
  for (const element of wanted) {
    if ([...held, ...added].some((lock) => conflicts(lock, element, openId))) return 'conflict'
    const { offset, length, isExclusive } = element
    added.push({ openId, offset: String(offset), length: String(length), isExclusive })
  }
  const next = (own.at(-1)?.index ?? 0) + 1
  // Reads from another client's cache would bypass the lock.
  yield* breakForWrite(tx, open, decodeRecord<FileOpen>(record).holder)
  for (const [at, lock] of added.entries()) putLock(tx, open, next + at, lock)
  return 'locked'
}

/** Removes a lock of this open with exactly this range; of several, the oldest. */
export function* removeLock(tx: FileTx, open: FileOpen, range: LockRange): Step<boolean> {
  const { shareId, nodeId } = open
  const own = yield* ownLocks(tx, open)
  const found = own.find(({ lock }) => {
    const { offset, length } = rangeOf(lock)
    return offset === range.offset && length === range.length
  })
  if (found === undefined) return false
  tx.delete(found.key)
  tx.announce({ kind: 'released', shareId, nodeId })
  return true
}

type OwnLock = { readonly key: Key; readonly index: number; readonly lock: FileLock }

/** Oldest first. */
function* ownLocks(tx: ReadTx, { shareId, nodeId, openId }: FileOpen): Step<OwnLock[]> {
  const entries = yield* scanAll(tx, locksRange(shareId, nodeId, openId), COUNT)
  return entries.map(({ key, value }) => ({
    key,
    index: Number(decodeKey(key).at(-1)),
    lock: decodeRecord<FileLock>(value),
  }))
}

function rangeOf({ offset, length }: FileLock): LockRange {
  return { offset: BigInt(offset), length: BigInt(length) }
}
