// Small slices of a few KiB are stored in the kv instead of an extent file. The transaction that refers to them writes
// their bytes, so an appended line or a page costs one sync instead of two. To the rest of the code they are slices of
// extent 0, which has no file; the offset is the id.
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { setImmediate } from 'node:timers/promises'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { inTurns } from '../../kv/turn.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../../kv/record.ts'
import { ExtentDamaged } from '../error.ts'
import type { SweptExtentStore } from '../extent.ts'
import { referencesOfSlice } from '../keys.ts'
import { scanPages } from '../scan.ts'
import { wholeSlice } from './slice-list.ts'
import { AT_HAND, isAtHand, SMALL_EXTENT, type Hole, type Piece, type Slice } from './slice.ts'

/** → {}, followed by the bytes */
export function smallKey(id: number): Key {
  return encodeKey('small-slice', id)
}

/** → { sinceMs? }: a reference was removed; `sinceMs` is when a sweep first saw that none is left */
export function smallDroppedKey(id: number): Key {
  return encodeKey('small-dropped', id)
}

const DROPPED_RANGE = prefixRange(encodeKey('small-dropped'))

/** Bytes of up to this length are stored in the kv, in one transaction with the record that refers to them. */
export const SMALL_BYTES_MAX = 8 * 1024

export function smallSlice(id: number, bytes: Uint8Array): Slice {
  return { extent: SMALL_EXTENT, offset: id, lengthBytes: bytes.length, crc32: crc32(bytes) }
}

/** A piece whose bytes are stored together with its record. */
export function smallPiece(id: number, bytes: Uint8Array): Piece {
  return { ...wholeSlice(smallSlice(id, bytes)), [AT_HAND]: bytes }
}

/** Call it in the transaction that adds the first reference to the slice. */
export function putSmallSlice(tx: Tx, id: number, bytes: Uint8Array): void {
  tx.put(smallKey(id), encodeRecord({}, bytes))
}

export function* hasSmallSlice(tx: ReadTx, id: number): Step<boolean> {
  return (yield* tx.get(smallKey(id))) !== undefined
}

/** A store that also reads small slices, and pins them while they are read. */
export type SmallSliceStore = SweptExtentStore & { isSmallPinned(id: number): boolean }

export function withSmallSlices(store: SweptExtentStore, kv: Kv): SmallSliceStore {
  const pins = new Map<number, number>()
  return {
    write: (...all) => store.write(...all),
    read(pieces, aheadCount) {
      if (!pieces.some(isSmall)) return store.read(pieces, aheadCount)
      return new MixedReader(pieces, store, kv, pins)
    },
    recycle: (chunk) => store.recycle(chunk),
    sizeBytes: () => store.sizeBytes(),
    close: () => store.close(),
    openBytes: (extent) => store.openBytes(extent),
    seal: (extent) => store.seal(extent),
    sealAbandoned: () => store.sealAbandoned(),
    pin: (extents) => store.pin(extents),
    isPinned: (extent) => store.isPinned(extent),
    oldestReadMs: () => store.oldestReadMs(),
    remove: (extents) => store.remove(extents),
    list: () => store.list(),
    storedBytes: (extent) => store.storedBytes(extent),
    isSmallPinned: (id) => pins.has(id),
  }
}

function isSmall(piece: Piece | Hole): piece is Piece {
  return piece.slice?.extent === SMALL_EXTENT
}

/** Whether the bytes must be read from the kv, and so must be pinned. */
function isInKv(piece: Piece | Hole): piece is Piece {
  return isSmall(piece) && !isAtHand(piece)
}

function isInExtent(piece: Piece | Hole): piece is Piece {
  return piece.slice !== undefined && !isSmall(piece)
}

/** Small pieces per read of the kv: about half a MiB. */
const SMALL_AT_ONCE = 64
/** Short holes are read together with small pieces: every other page of a page blob may be a hole. */
const SMALL_HOLE_BYTES_MAX = 8 * 1024

function isShort(piece: Piece | Hole): boolean {
  if (piece.slice === undefined) return piece.lengthBytes <= SMALL_HOLE_BYTES_MAX
  return isSmall(piece)
}

/** The end of the run of pieces of one kind that begins at `from`. */
function runEnd(pieces: readonly (Piece | Hole)[], from: number, isRunShort: boolean): number {
  const endMax = isRunShort ? Math.min(from + SMALL_AT_ONCE, pieces.length) : pieces.length
  let end = from + 1
  for (; end < endMax; end += 1) {
    const piece = pieces[end]
    if (piece === undefined || isShort(piece) !== isRunShort) break
  }
  return end
}

/** Not a generator, for the same reason as SpanReader: its pins must be released. */
class MixedReader implements AsyncIterableIterator<Uint8Array> {
  readonly #pieces: readonly (Piece | Hole)[]
  readonly #store: SweptExtentStore
  readonly #kv: Kv
  readonly #pins: Map<number, number>
  /** Resolves when all small slices are pinned. The sweep keeps them much longer than that takes (GRACE_MS). */
  readonly #pinned: Promise<void>
  /**
   * Never read: it pins the extents, while the runs in them get their readers one after another. It is open from the
   * beginning to the end, also if there are only small slices (`oldestReadMs`).
   */
  readonly #extentPin: AsyncIterableIterator<Uint8Array>
  /** Reads the current run, if it is not a small one. */
  #run: AsyncIterableIterator<Uint8Array> | undefined
  /** Where the next run begins. */
  #at = 0
  #isDone = false

  constructor(
    pieces: readonly (Piece | Hole)[],
    store: SweptExtentStore,
    kv: Kv,
    pins: Map<number, number>,
  ) {
    this.#pieces = pieces
    this.#store = store
    this.#kv = kv
    this.#pins = pins
    this.#extentPin = store.read(pieces.filter(isInExtent))
    this.#pinned = inTurns(pieces, (piece) => {
      if (isInKv(piece)) pins.set(piece.slice.offset, (pins.get(piece.slice.offset) ?? 0) + 1)
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      while (!this.#isDone) {
        if (this.#run !== undefined) {
          const { value, done } = await this.#run.next()
          if (done !== true) return { value, done: false }
          this.#run = undefined
        }
        const first = this.#pieces[this.#at]
        if (first === undefined) break
        const isRunShort = isShort(first)
        const run = this.#pieces.slice(this.#at, runEnd(this.#pieces, this.#at, isRunShort))
        this.#at += run.length
        if (isRunShort) return { value: await readSmall(this.#kv, run), done: false }
        this.#run = this.#store.read(run)
      }
      return await this.return()
    } catch (error) {
      await this.return()
      throw error
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isDone) {
      this.#isDone = true
      await this.#run?.return?.()
      await this.#extentPin.return?.()
      await this.#pinned
      await inTurns(this.#pieces, (piece) => {
        if (isInKv(piece)) this.#unpin(piece.slice.offset)
      })
    }
    return { value: undefined, done: true }
  }

  #unpin(id: number): void {
    const count = (this.#pins.get(id) ?? 0) - 1
    if (count > 0) this.#pins.set(id, count)
    else this.#pins.delete(id)
  }
}

/**
 * Reads a short range now, which saves its reader a second read of the store; undefined if the range is long or has bytes in
 * an extent file.
 */
export function* readShort(
  tx: ReadTx,
  pieces: readonly (Piece | Hole)[],
  lengthBytes: number,
): Step<Uint8Array | undefined> {
  return lengthBytes <= SMALL_BYTES_MAX ? yield* readSmallPieces(tx, pieces) : undefined
}

async function readSmall(kv: Kv, pieces: readonly (Piece | Hole)[]): Promise<Uint8Array> {
  const bytes = await kv.read((tx) => readSmallPieces(tx, pieces))
  assert(bytes !== undefined, 'a run of small pieces has no others')
  return bytes
}

/** The bytes of small pieces and holes; undefined if any piece is in an extent file. */
function* readSmallPieces(
  tx: ReadTx,
  pieces: readonly (Piece | Hole)[],
): Step<Uint8Array | undefined> {
  if (pieces.some(isInExtent)) return undefined
  // Reads all before it looks at any: then one round trip to the store is enough.
  const records: (StoredRecord | undefined)[] = []
  for (const piece of pieces) {
    records.push(isInKv(piece) ? yield* tx.get(smallKey(piece.slice.offset)) : undefined)
  }
  return joined(
    pieces.map((piece, at) => {
      if (piece.slice === undefined) return new Uint8Array(piece.lengthBytes)
      return atHand(piece) ?? bytesOf(piece, records[at])
    }),
  )
}

function atHand(piece: Piece): Uint8Array | undefined {
  const bytes = piece[AT_HAND]
  return bytes && usedBytes(piece, bytes)
}

function bytesOf(piece: Piece, record: StoredRecord | undefined): Uint8Array {
  const { offset } = piece.slice
  if (record === undefined)
    throw new ExtentDamaged(SMALL_EXTENT, `small slice ${offset} is missing`)
  return usedBytes(piece, record.bytes)
}

function usedBytes({ slice, from, lengthBytes }: Piece, bytes: Uint8Array): Uint8Array {
  if (bytes.length !== slice.lengthBytes) {
    throw new ExtentDamaged(SMALL_EXTENT, `small slice ${slice.offset} has the wrong length`)
  }
  return bytes.subarray(from, from + lengthBytes)
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts
  return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
}

/** The options of a sweep of extents (sweep.ts) that also concern small slices. */
export type SmallSweep = {
  readonly clock: () => number
  readonly oldestReadMs?: () => Promise<number | undefined>
  /** How long unreferenced bytes are kept for readers that may still know them. */
  readonly graceMs?: number
  isPinned(id: number): boolean
}

const GRACE_MS = 30_000
/** Slices per transaction: small, so that it is rarely overtaken. */
const STEP_COUNT = 32
/** Transactions at a time: where reads wait, those of all of them wait together. */
const STEPS_AT_ONCE = 4

/** Removes small slices that have been unreferenced for a while; returns how many. */
export async function sweepSmallSlices(
  kv: Kv,
  { clock, oldestReadMs = async () => undefined, graceMs = GRACE_MS, isPinned }: SmallSweep,
): Promise<number> {
  let removed = 0
  const nowMs = clock()
  const unreadAtMs = Math.min((await oldestReadMs()) ?? nowMs, nowMs) - graceMs
  for await (const page of scanPages(kv, DROPPED_RANGE, STEP_COUNT * STEPS_AT_ONCE)) {
    const free = page.map(({ key }) => Number(decodeKey(key)[1])).filter((id) => !isPinned(id))
    const steps: Promise<number>[] = []
    for (let at = 0; at < free.length; at += STEP_COUNT) {
      const step = free.slice(at, at + STEP_COUNT)
      steps.push(kv.write((tx) => sweepStep(tx, step, clock, unreadAtMs)))
    }
    for (const count of await Promise.all(steps)) removed += count
    await setImmediate()
  }
  return removed
}

function* sweepStep(
  tx: Tx,
  ids: readonly number[],
  clock: () => number,
  unreadAtMs: number,
): Step<number> {
  // The time of this attempt of the transaction: whoever has seen a reference must not seem to read later than this.
  const nowMs = clock()
  let count = 0
  for (const id of ids) count += yield* sweepSmallSlice(tx, id, nowMs, unreadAtMs)
  return count
}

function* sweepSmallSlice(tx: Tx, id: number, nowMs: number, unreadAtMs: number): Step<0 | 1> {
  const key = smallDroppedKey(id)
  const value = yield* tx.get(key)
  if (value === undefined) return 0
  const references = yield* tx.scan({ ...referencesOfSlice(SMALL_EXTENT, id), countMax: 1 })
  if (references.length > 0) {
    tx.delete(key)
    return 0
  }
  const { sinceMs } = decodeRecord<{ sinceMs?: number }>(value)
  if ((sinceMs ?? nowMs) <= unreadAtMs) {
    tx.delete(key)
    tx.delete(smallKey(id))
    return 1
  }
  if (sinceMs === undefined) tx.put(key, encodeRecord({ sinceMs: nowMs }))
  return 0
}
