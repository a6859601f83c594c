// Byte-range locks ([MS-FSA] 2.1.4.10, 2.1.5.7, 2.1.5.8): which reads and writes they forbid, and which of them
// conflict. Offsets use all 64 bits, far beyond any file: clients use locks as signals.
import type { Key, ReadTx, Step } from '../../../kv/kv.ts'
import { decodeKey } from '../../../kv/key.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { giveWay } from '../../../kv/step.ts'
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
/** Per request: each element is compared with all others. Linux sends up to 170, Windows one. */
export const ELEMENT_COUNT_MAX = 1_000
/** Comparisons after which a request gives way to others. */
const GIVE_WAY_COUNT = 10_000

export function isLockRange({ offset, length }: LockRange): boolean {
  return length === 0n || offset + length <= RANGE_END
}

/** An empty range overlaps a range that starts before it and ends after it. */
export function overlaps(a: LockRange, b: LockRange): boolean {
  return a.offset < b.offset + b.length && b.offset < a.offset + a.length
}

/** Whether a held lock conflicts with a wanted one. */
export function conflicts(held: FileLock, wanted: LockElement, openId: number): boolean {
  return excludes(held, wanted.isExclusive, openId) && overlaps(rangeOf(held), wanted)
}

/** Whether a held lock conflicts with one that overlaps it. Two shared locks never conflict. */
function excludes(
  held: Pick<FileLock, 'isExclusive' | 'openId'>,
  isExclusive: boolean,
  openId: number,
): boolean {
  if (isExclusive) return true
  // A shared lock may overlap an exclusive one of the same open.
  return held.isExclusive && held.openId !== openId
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
  if (yield* conflictsWithHeld(held, wanted, openId)) return 'conflict'
  if (yield* conflictsWithin(wanted)) return 'conflict'
  const next = (own.at(-1)?.index ?? 0) + 1
  // Reads from another client's cache would bypass the lock.
  yield* breakForWrite(tx, open, decodeRecord<FileOpen>(record).holder)
  for (const [at, { offset, length, isExclusive }] of wanted.entries()) {
    putLock(tx, open, next + at, {
      openId,
      offset: String(offset),
      length: String(length),
      isExclusive,
    })
  }
  return 'locked'
}

function* conflictsWithHeld(
  held: readonly FileLock[],
  wanted: readonly LockElement[],
  openId: number,
): Step<boolean> {
  for (const isExclusive of [true, false]) {
    const some = wanted.filter((element) => element.isExclusive === isExclusive)
    if (some.length === 0) continue
    const inTheWay = held.filter((lock) => excludes(lock, isExclusive, openId)).map(rangeOf)
    yield* giveWay()
    const ranges = sortRanges(inTheWay)
    yield* giveWay()
    if (some.some((element) => overlapsAny(ranges, element))) return true
  }
  return false
}

/** The elements are locked in order, by one open: a shared lock only excludes the exclusive ones after it. */
function* conflictsWithin(wanted: readonly LockElement[]): Step<boolean> {
  let count = 0
  for (const [at, element] of wanted.entries()) {
    if (!element.isExclusive) continue
    for (let before = 0; before < at; before += 1) {
      const other = wanted[before]
      if (other !== undefined && overlaps(other, element)) return true
    }
    count += at
    if (count > GIVE_WAY_COUNT) {
      count = 0
      yield* giveWay()
    }
  }
  return false
}

/** Ranges in the order of their offsets, each with the largest end of it and those before it. */
type SortedRanges = readonly { readonly offset: bigint; readonly endMax: bigint }[]

function sortRanges(ranges: readonly LockRange[]): SortedRanges {
  const sorted = [...ranges].sort((a, b) =>
    a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0,
  )
  let endMax = 0n
  return sorted.map(({ offset, length }) => {
    if (offset + length > endMax) endMax = offset + length
    return { offset, endMax }
  })
}

/** Same as `overlaps` with any of them: one that starts before the end, and ends after the start. */
function overlapsAny(ranges: SortedRanges, { offset, length }: LockRange): boolean {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range !== undefined && range.offset < offset + length) low = middle + 1
    else high = middle
  }
  const last = ranges[low - 1]
  return last !== undefined && last.endMax > offset
}

/**
 * Removes locks of this open with exactly these ranges; of several equal ones, the oldest. Stops at the first range that
 * is not locked, and returns how many were removed.
 */
export function* removeLocks(
  tx: FileTx,
  open: FileOpen,
  ranges: readonly LockRange[],
): Step<number> {
  const { shareId, nodeId } = open
  const held = new Map<string, Key[]>()
  for (const { key, lock } of (yield* ownLocks(tx, open)).reverse()) {
    const name = rangeName(lock)
    const same = held.get(name)
    if (same === undefined) held.set(name, [key])
    else same.push(key)
  }
  let count = 0
  for (const range of ranges) {
    const oldest = held.get(rangeName(range))?.pop()
    if (oldest === undefined) break
    tx.delete(oldest)
    count += 1
  }
  if (count > 0) tx.announce({ kind: 'released', shareId, nodeId })
  return count
}

function rangeName({ offset, length }: LockRange | FileLock): string {
  return `${offset} ${length}`
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
