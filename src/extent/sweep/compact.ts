// Compaction moves the live slices out of an extent. It copies them, and once the copies are durable it re-points their
// owners, in a transaction that checks that each owner still has the slice. All owners of a slice get the same copy, so
// page range diffs see no change.
import { setImmediate } from 'node:timers/promises'
import { keyAfter, type Entry, type Key, type Kv, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes } from '../../kv/record.ts'
import { ExtentDamaged } from '../error.ts'
import type { ExtentStore } from '../extent.ts'
import { referenceKey, referencesOf } from '../keys.ts'
import {
  decodeReference,
  isSameContent,
  markDirty,
  putReference,
  requireExtents,
} from '../content/reference.ts'
import type { Reference } from '../content/reference.ts'
import { isSameSlice, wholeSlice } from '../content/slice-list.ts'
import type { Content, ContentId, Slice } from '../content/slice.ts'

export type Compaction = { readonly movedCount: number; readonly copiedBytes: number }

type Copy = { readonly from: Slice; readonly to: Slice }
/** The copies for an owner, by their old offset in the extent. */
type Owner = {
  readonly key: Key
  readonly content: ContentId
  readonly copies: Map<number, Copy>
}

/** References that are read at once; a slice with more owners takes several steps. */
const STEP_COUNT = 256
/** References per transaction, unless a single record has more. */
const REPOINT_COUNT = 64
const COPIES_AT_ONCE = 8

export async function compactExtent(
  kv: Kv,
  store: ExtentStore,
  extent: number,
): Promise<Compaction> {
  const range = referencesOf(extent)
  let from = range.from
  let movedCount = 0
  let copiedBytes = 0
  let copies: Copy[] = []
  for (;;) {
    const start = from
    const page = await kv.read(function* (tx) {
      const entries = yield* tx.scan({ from: start, to: range.to, countMax: STEP_COUNT })
      return wholeSlices(entries).map(decodeReference)
    })
    const last = page.at(-1)
    if (last === undefined) return { movedCount, copiedBytes }
    // The last slice of the previous step may have more owners in this one.
    const known = copies.slice(-1)
    const added = await copySlices(store, page, known)
    copiedBytes += added.reduce((total, copy) => total + copy.to.lengthBytes, 0)
    copies = [...known, ...added]
    for (const owners of inSteps(ownersOf(page, copies))) {
      movedCount += await kv.write((tx) => repoint(tx, extent, owners))
    }
    from = keyAfter(referenceKey(extent, last.slice.offset, last.content))
    await setImmediate()
  }
}

/** Leaves out the last slice of a full step, unless it is the only one: it may have more owners. */
function wholeSlices(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.at(-1)
  if (last === undefined || entries.length < STEP_COUNT) return entries
  const { offset } = decodeReference(last).slice
  const whole = entries.filter((entry) => decodeReference(entry).slice.offset !== offset)
  return whole.length > 0 ? whole : entries
}

async function copySlices(
  store: ExtentStore,
  references: readonly Reference[],
  known: readonly Copy[],
): Promise<Copy[]> {
  const slices = references
    .map((reference) => reference.slice)
    .filter((slice, at, all) => at === 0 || all[at - 1]?.offset !== slice.offset)
    .filter((slice) => !known.some((copy) => isSameSlice(copy.from, slice)))
  const copies: Copy[] = []
  for (let at = 0; at < slices.length; at += COPIES_AT_ONCE) {
    // Concurrent copies share a sync.
    const group = slices.slice(at, at + COPIES_AT_ONCE)
    const results = await Promise.allSettled(group.map((slice) => copySlice(store, slice)))
    for (const result of results) {
      if (result.status === 'rejected') throw result.reason
      if (result.value !== undefined) copies.push(result.value)
    }
  }
  return copies
}

/** Undefined if the bytes are damaged: they stay where they are, for fsck to report. */
async function copySlice(store: ExtentStore, from: Slice): Promise<Copy | undefined> {
  try {
    const to = await store.write(store.read([wholeSlice(from)]), from.lengthBytes, [])
    return to.crc32 === from.crc32 ? { from, to } : undefined
  } catch (error) {
    if (error instanceof ExtentDamaged) return undefined
    throw error
  }
}

/** An owner's record is written once, however many of its slices move. */
function ownersOf(references: readonly Reference[], copies: readonly Copy[]): Owner[] {
  const copyAt = new Map(copies.map((copy) => [copy.from.offset, copy]))
  const owners = new Map<string, Owner>()
  for (const { slice, content, ownerKey } of references) {
    const copy = copyAt.get(slice.offset)
    if (copy === undefined) continue
    const name = `${content.id}:${Buffer.from(ownerKey).toString('latin1')}`
    const owner = owners.get(name) ?? { key: ownerKey, content, copies: new Map<number, Copy>() }
    owner.copies.set(slice.offset, copy)
    owners.set(name, owner)
  }
  return [...owners.values()]
}

function inSteps(owners: readonly Owner[]): readonly (readonly Owner[])[] {
  const steps: Owner[][] = []
  let count = REPOINT_COUNT
  for (const owner of owners) {
    if (count + owner.copies.size > REPOINT_COUNT) {
      steps.push([])
      count = 0
    }
    steps.at(-1)?.push(owner)
    count += owner.copies.size
  }
  return steps
}

/** Returns how many references moved. */
function* repoint(tx: Tx, extent: number, owners: readonly Owner[]): Step<number> {
  let movedCount = 0
  for (const owner of owners) {
    const moved = yield* repointOwner(tx, extent, owner)
    movedCount += moved
    if (moved === owner.copies.size) continue
    // If an owner has changed, its copies may be garbage.
    for (const { to } of owner.copies.values()) markDirty(tx, to.extent)
  }
  return movedCount
}

function* repointOwner(
  tx: Tx,
  extent: number,
  { key, content: owned, copies }: Owner,
): Step<number> {
  const value = yield* tx.get(key)
  if (value === undefined) return 0
  const record = decodeRecord<{ content?: Content }>(value)
  if (record.content === undefined || !isSameContent(record.content, owned)) return 0
  const held = new Set<Copy>()
  const pieces = record.content.pieces.map((piece) => {
    const copy = piece.slice.extent === extent ? copies.get(piece.slice.offset) : undefined
    if (copy === undefined) return piece
    held.add(copy)
    return { ...piece, slice: copy.to }
  })
  if (held.size === 0) return 0
  yield* requireExtents(
    tx,
    [...held].map((copy) => copy.to),
  )
  const content: Content = { ...record.content, pieces }
  tx.put(key, encodeRecord({ ...record, content }, recordBytes(value)))
  for (const { from, to } of held) {
    tx.delete(referenceKey(extent, from.offset, owned))
    putReference(tx, { slice: to, content: owned, ownerKey: key })
  }
  return held.size
}
