// All keys of the extent layer, and the record of an extent with its state transitions:
//
//   open ──seal──▶ sealed ──retire──▶ retired ──forget──▶ gone
//
//   ['extent', id]                                   the record
//   ['extent-next']                                  the next id
//   ['extent-folder']                                { id } of the folder, if nodes share one (file/folder-id.ts)
//   ['extent-open', id]                              the extent is open
//   ['extent-reference', extent, offset, contentId]  a content uses this slice; bytes: its owner's key
//   ['extent-reference', extent, offset, contentId, at]  the same for a record of a map
//   ['extent-dirty', extent]                         a reference was removed: check for free space
//   ['extent-due', atMs, extent]                     sealed or retired then: check after the grace period
//   ['small-slice', id], ['small-dropped', id]       see small.ts
import assert from 'node:assert/strict'
import { decodeKey, encodeKey } from '../kv/key.ts'
import { prefixRange, type Key, type KeyRange, type ReadTx, type Step, type Tx } from '../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'
import { ExtentRetired } from './error.ts'
import type { ContentId } from './content/slice.ts'

export type ExtentRecord = {
  readonly state: 'open' | 'sealed' | 'retired'
  /** 0 while it is open. */
  readonly sizeBytes: number
  /** The node that writes to it (`Writers`). */
  readonly writer: string
  readonly sealedAtMs?: number
  readonly retiredAtMs?: number
  /** Its bytes are in another store (shared-extents.ts), and up to `sizeBytes` of them are used here. */
  readonly isShared?: true
}

export const EXTENT_RANGE = prefixRange(encodeKey('extent'))
export const OPEN_RANGE = prefixRange(encodeKey('extent-open'))
export const REFERENCE_RANGE = prefixRange(encodeKey('extent-reference'))
export const DIRTY_RANGE = prefixRange(encodeKey('extent-dirty'))
export const FOLDER_KEY = encodeKey('extent-folder')
const NEXT_KEY = encodeKey('extent-next')

export function extentKey(extent: number): Key {
  return encodeKey('extent', extent)
}

function openKey(extent: number): Key {
  return encodeKey('extent-open', extent)
}

export function referenceKey(extent: number, offset: number, { id, at = 0 }: ContentId): Key {
  if (at === 0) return encodeKey('extent-reference', extent, offset, id)
  return encodeKey('extent-reference', extent, offset, id, at)
}

export function referencesOf(extent: number): KeyRange {
  return prefixRange(encodeKey('extent-reference', extent))
}

export function referencesOfSlice(extent: number, offset: number) {
  return prefixRange(encodeKey('extent-reference', extent, offset))
}

export function dirtyKey(extent: number): Key {
  return encodeKey('extent-dirty', extent)
}

export function extentDueKey(atMs: number, extent: number): Key {
  return encodeKey('extent-due', atMs, extent)
}

/** The checks that are due by `atMs`. */
export function dueUntil(atMs: number): KeyRange {
  return { from: encodeKey('extent-due'), to: extentDueKey(atMs + 1, 0) }
}

export function markDue(tx: Tx, atMs: number, extent: number): void {
  tx.put(extentDueKey(atMs, extent), encodeRecord({}))
}

/** The numbers after the name in any key of this layer. */
export function keyNumbers(key: Key): number[] {
  return decodeKey(key)
    .slice(1)
    .map((part) => {
      assert(typeof part === 'number', 'keys of extents are numbers')
      return part
    })
}

export function* getExtent(tx: ReadTx, extent: number): Step<ExtentRecord | undefined> {
  const value = yield* tx.get(extentKey(extent))
  return value === undefined ? undefined : decodeRecord<ExtentRecord>(value)
}

/** Records may refer to an extent only until a sweep retires it. */
export function* requireExtent(tx: ReadTx, extent: number): Step<void> {
  const record = yield* getExtent(tx, extent)
  if (record === undefined || record.state === 'retired')
    throw new ExtentRetired(`extent ${extent}`)
}

/** Assigns the next id and registers the extent, before it has any bytes. */
export function* registerExtent(tx: Tx, record: ExtentRecord): Step<number> {
  const value = yield* tx.get(NEXT_KEY)
  const extent = value === undefined ? 1 : decodeRecord<{ next: number }>(value).next
  tx.put(NEXT_KEY, encodeRecord({ next: extent + 1 }))
  tx.put(extentKey(extent), encodeRecord(record))
  if (record.state === 'open') tx.put(openKey(extent), encodeRecord({}))
  if (record.sealedAtMs !== undefined) markDue(tx, record.sealedAtMs, extent)
  return extent
}

/** Registers an extent of another store, of which records here use the bytes up to `endBytes`. */
export function* registerShared(tx: Tx, extent: number, endBytes: number): Step<void> {
  const known = yield* getExtent(tx, extent)
  const sizeBytes = Math.max(endBytes, known?.sizeBytes ?? 0)
  const record: ExtentRecord = { state: 'sealed', sizeBytes, writer: 'shared', isShared: true }
  tx.put(extentKey(extent), encodeRecord(record))
  yield* skipExtentIds(tx, extent)
}

/** Never reuses the id of an existing file, even if the records are from an older backup. */
export function* skipExtentIds(tx: Tx, used: number): Step<void> {
  const value = yield* tx.get(NEXT_KEY)
  const next = value === undefined ? 1 : decodeRecord<{ next: number }>(value).next
  if (next <= used) tx.put(NEXT_KEY, encodeRecord({ next: used + 1 }))
}

/** Every sealed extent is checked once: torn and abandoned writes leave no other trace. */
export function* sealExtent(tx: Tx, extent: number, sizeBytes: number, nowMs: number): Step<void> {
  tx.delete(openKey(extent))
  const record = yield* getExtent(tx, extent)
  if (record === undefined || record.state !== 'open') return
  const sealed: ExtentRecord = { ...record, state: 'sealed', sizeBytes, sealedAtMs: nowMs }
  tx.put(extentKey(extent), encodeRecord(sealed))
  markDue(tx, nowMs, extent)
}

/**
 * Retires an extent without references; from then on none can be added. `nowMs` is the time of this attempt of the
 * transaction: a reader that has seen a reference must not seem to have begun much later than this.
 */
export function* retireExtent(tx: Tx, extent: number, nowMs: number): Step<boolean> {
  const record = yield* getExtent(tx, extent)
  if (record === undefined || record.state !== 'sealed') return false
  const references = yield* tx.scan({ ...referencesOf(extent), countMax: 1 })
  if (references.length > 0) return false
  const retired: ExtentRecord = { ...record, state: 'retired', retiredAtMs: nowMs }
  tx.put(extentKey(extent), encodeRecord(retired))
  markDue(tx, nowMs, extent)
  return true
}
