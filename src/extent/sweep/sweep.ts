// Frees space. Two lists say where to look, so a sweep costs what was deleted, not what is stored: extents that lost a
// reference (dirty), and extents that were sealed or retired a while ago (due). A transaction retires an extent that has
// no references; its bytes are removed after the grace period, which is longer than any operation takes between reading
// a record and using its extents, and not before every reader that may need them has ended.
//
// One node sweeps at a time, beside any number that read and write (docs/decisions/0021-bytes-of-many-nodes.md).
import { setImmediate } from 'node:timers/promises'
import type { Entry, Key, Kv, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { compactExtent } from './compact.ts'
import type { SweptExtentStore } from '../extent.ts'
import {
  DIRTY_RANGE,
  dueUntil,
  extentKey,
  getExtent,
  keyNumbers,
  markDue,
  retireExtent,
} from '../keys.ts'
import { liveBytes } from './live.ts'
import { markDirty } from '../content/reference.ts'
import { scanPages } from '../scan.ts'

export type SweepOptions = {
  /** The clock of the extents, on which all nodes agree. */
  readonly clock: () => number
  /**
   * A time before which no read began that is open on any node or will be opened later; undefined if only this process
   * reads. A node without open reads counts with the time at which it said so.
   */
  readonly oldestReadMs?: () => Promise<number | undefined>
  /** How long unreferenced bytes are kept for readers and writers that may still use them. */
  readonly graceMs?: number
  /** An extent with a smaller ratio of live bytes is compacted, so the disk has at most a quarter more than what is live. */
  readonly liveRatioMin?: number
  /** A smaller open extent is not sealed for its garbage. */
  readonly sealBytesMin?: number
  /** Extents per pass, and bytes after which a pass stops copying. */
  readonly extentsMax?: number
  readonly copyBytesMax?: number
  /** Whether to remove files without a record; only somebody else can have put them there. */
  readonly orphans?: boolean
}

export type Swept = {
  retiredCount: number
  compactedCount: number
  copiedBytes: number
  removedCount: number
  orphanCount: number
}

const DEFAULTS = {
  graceMs: 30_000,
  liveRatioMin: 0.8,
  sealBytesMin: 1_024 * 1_024,
  extentsMax: 1_024,
  copyBytesMax: 256 * 1_024 * 1_024,
  orphans: true,
  oldestReadMs: async () => undefined,
}

type Pass = Required<SweepOptions> & {
  /** What was written by then is referenced by now, or never will be. */
  readonly restedAtMs: number
  /** Nobody reads extents that were retired by then. */
  readonly unreadAtMs: number
}

/** Extents that are looked at together. */
const LOOK_COUNT = 64
/** Extents per transaction: small, so that it is rarely overtaken and other nodes' commits hardly wait for it. */
const STEP_COUNT = 16

/** What to do with an extent; `wait` leaves its entry in the list. */
type Verdict = 'nothing' | 'wait' | 'lookLater' | 'retire' | 'compact' | 'remove'
type Listed = { readonly key: Key; readonly isDirty: boolean; readonly extent: number }
type Look = Listed & {
  readonly verdict: Verdict
  readonly sealedAtMs: number
  readonly liveBytes: number
}

/** One pass. The next one continues with the rest. */
export async function sweepExtents(
  kv: Kv,
  store: SweptExtentStore,
  sweepOptions: SweepOptions,
): Promise<Swept> {
  const pass = await beginPass(sweepOptions)
  await store.sealAbandoned()
  const swept: Swept = {
    retiredCount: 0,
    compactedCount: 0,
    copiedBytes: 0,
    removedCount: 0,
    orphanCount: 0,
  }
  const toCompact: Look[] = []
  let extentsLeft = pass.extentsMax
  for await (const listed of listedPages(kv, pass)) {
    if (extentsLeft <= 0) break
    const looks = await Promise.all(listed.map((entry) => lookAt(kv, store, entry, pass)))
    await removeAndRetire(kv, store, looks, pass, swept)
    toCompact.push(...looks.filter((look) => look.verdict === 'compact'))
    extentsLeft -= looks.filter((look) => look.verdict !== 'wait').length
  }
  // Last: copying needs space, which the steps above have freed. Those that free the most for what they copy come first.
  for (const look of toCompact.toSorted((a, b) => a.liveBytes - b.liveBytes)) {
    if (swept.copiedBytes >= pass.copyBytesMax) break
    await compact(kv, store, look, pass, swept)
  }
  if (pass.orphans) swept.orphanCount = await removeOrphans(kv, store)
  return swept
}

async function beginPass(options: SweepOptions): Promise<Pass> {
  const all = { ...DEFAULTS, ...options }
  const nowMs = all.clock()
  const oldestReadMs = Math.min((await all.oldestReadMs()) ?? nowMs, nowMs)
  // The oldest read may have learned of its extents up to the grace period before it began.
  return { ...all, restedAtMs: nowMs - all.graceMs, unreadAtMs: oldestReadMs - all.graceMs }
}

/** Both lists in steps. Claims dirty markers before their extents are checked. */
async function* listedPages(kv: Kv, { restedAtMs }: Pass): AsyncGenerator<readonly Listed[]> {
  if (restedAtMs >= 0) {
    for await (const page of scanPages(kv, dueUntil(restedAtMs), LOOK_COUNT)) {
      yield page.map((entry) => listedEntry(entry, false))
    }
  }
  for await (const page of scanPages(kv, DIRTY_RANGE, LOOK_COUNT)) {
    await kv.write((tx) => claim(tx, page))
    yield page.map((entry) => listedEntry(entry, true))
  }
}

function listedEntry({ key }: Entry, isDirty: boolean): Listed {
  return { key, isDirty, extent: keyNumbers(key).at(-1) ?? 0 }
}

async function lookAt(kv: Kv, store: SweptExtentStore, listed: Listed, pass: Pass): Promise<Look> {
  const record = await kv.read((tx) => getExtent(tx, listed.extent))
  const sealedAtMs = record?.sealedAtMs ?? 0
  const see = (verdict: Verdict, lengthBytes = 0): Look => {
    return { ...listed, verdict, sealedAtMs, liveBytes: lengthBytes }
  }
  if (record === undefined) return see('nothing')
  if (record.state === 'open') return see(await judgeOpen(kv, store, listed.extent, pass))
  if (record.state === 'retired') {
    const isUnread = (record.retiredAtMs ?? 0) <= pass.unreadAtMs && !store.isPinned(listed.extent)
    return see(isUnread ? 'remove' : 'wait')
  }
  // Recently written bytes may not be referenced yet.
  if (sealedAtMs > pass.restedAtMs) return see('lookLater')
  // Compaction would copy the bytes of another store, and free none there.
  const enoughBytes = record.isShared === true ? 0 : record.sizeBytes * pass.liveRatioMin
  const live = await liveBytes(kv, listed.extent, enoughBytes)
  if (!live.isReferenced) return see('retire')
  return see(live.lengthBytes < enoughBytes ? 'compact' : 'nothing', live.lengthBytes)
}

/**
 * Seals an open extent with too much garbage. Sealing makes it due, so there is nothing more to do now. Those of other nodes
 * are left alone: they are checked when they are full, or when their writer has ended.
 */
async function judgeOpen(
  kv: Kv,
  store: SweptExtentStore,
  extent: number,
  pass: Pass,
): Promise<Verdict> {
  const sizeBytes = store.openBytes(extent) ?? 0
  if (sizeBytes === 0 || sizeBytes < pass.sealBytesMin) return 'nothing'
  const enoughBytes = sizeBytes * pass.liveRatioMin
  const live = await liveBytes(kv, extent, enoughBytes)
  if (live.lengthBytes < enoughBytes) await store.seal(extent)
  return 'nothing'
}

/**
 * Removes the bytes before their record: after a crash in between, the record is removed again. Bytes that may be removed
 * once may be removed at any time later, so it does not matter whether this node still sweeps.
 */
async function removeAndRetire(
  kv: Kv,
  store: SweptExtentStore,
  looks: readonly Look[],
  { clock }: Pass,
  swept: Swept,
): Promise<void> {
  const removed = looks.filter((look) => look.verdict === 'remove')
  await store.remove(removed.map((look) => look.extent))
  const finished = looks.filter((look) => look.verdict !== 'wait' && look.verdict !== 'compact')
  for (let at = 0; at < finished.length; at += STEP_COUNT) {
    const step = finished.slice(at, at + STEP_COUNT)
    swept.retiredCount += await kv.write((tx) => finish(tx, step, clock))
  }
  swept.removedCount += removed.length
}

/** Carries out verdicts. Returns how many extents were retired. */
function* finish(tx: Tx, looks: readonly Look[], clock: () => number): Step<number> {
  // First, since the puts below may have the same key.
  for (const look of looks) yield* clearEntry(tx, look)
  let retiredCount = 0
  for (const { verdict, extent, sealedAtMs } of looks) {
    if (verdict === 'remove') tx.delete(extentKey(extent))
    if (verdict === 'lookLater') markDue(tx, sealedAtMs, extent)
    if (verdict === 'retire' && (yield* retireExtent(tx, extent, clock()))) retiredCount += 1
  }
  return retiredCount
}

async function compact(
  kv: Kv,
  store: SweptExtentStore,
  look: Look,
  { clock }: Pass,
  swept: Swept,
): Promise<void> {
  const { extent } = look
  const { movedCount, copiedBytes } = await compactExtent(kv, store, extent)
  swept.copiedBytes += copiedBytes
  const isRetired = await kv.write(function* (tx) {
    yield* clearEntry(tx, look)
    const isEmpty = yield* retireExtent(tx, extent, clock())
    // A reference was added meanwhile. If nothing could be moved, a retry would not help.
    if (!isEmpty && movedCount > 0) markDirty(tx, extent)
    return isEmpty
  })
  if (isRetired) swept.retiredCount += 1
  if (isRetired) swept.compactedCount += 1
}

/** Marks the entries, so that `clearEntry` keeps those that are put again while the sweep runs. */
function* claim(tx: Tx, page: readonly Entry[]): Step<void> {
  for (const { key } of page) tx.put(key, encodeRecord({ isClaimed: true }))
}

function* clearEntry(tx: Tx, { key, isDirty }: Listed): Step<void> {
  const value = yield* tx.get(key)
  if (value === undefined) return
  const isNew = isDirty && decodeRecord<{ isClaimed?: boolean }>(value).isClaimed !== true
  if (!isNew) tx.delete(key)
}

/**
 * Lists files before it reads records: a record exists before its file is created and until after it is removed, so a
 * file without one is an orphan.
 */
async function removeOrphans(kv: Kv, store: SweptExtentStore): Promise<number> {
  const extents = await store.list()
  let count = 0
  for (let at = 0; at < extents.length; at += LOOK_COUNT) {
    const step = extents.slice(at, at + LOOK_COUNT)
    const orphans = await kv.read(function* (tx) {
      const unknown: number[] = []
      for (const extent of step) {
        if ((yield* tx.get(extentKey(extent))) === undefined) unknown.push(extent)
      }
      return unknown
    })
    const free = orphans.filter((extent) => !store.isPinned(extent))
    await store.remove(free)
    count += free.length
    await setImmediate()
  }
  return count
}
