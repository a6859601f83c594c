// Small slices of a few KiB are stored in the kv instead of an extent file. The transaction that refers to them writes
// their bytes, so an appended line or a page costs one sync instead of two. To the rest of the code they are slices of
// extent 0, which has no file; the offset is the id.
import assert from 'node:assert/strict'
import { crc32 } from 'node:zlib'
import { setImmediate } from 'node:timers/promises'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { ExtentDamaged } from '../error.ts'
import type { SweptExtentStore } from '../extent.ts'
import { referencesOfSlice } from '../keys.ts'
import { scanPages } from '../scan.ts'
import { wholeSlice } from './slice-list.ts'
import { AT_HAND, SMALL_EXTENT, type Hole, type Piece, type Slice } from './slice.ts'

/** → {}, followed by the bytes */
export function smallKey(id: number): Key {
  return encodeKey('small-slice', id)
}

/** → { sinceMs? }: a reference was removed; `sinceMs` is when a sweep first saw that none is left */
export function smallDroppedKey(id: number): Key {
  return encodeKey('small-dropped', id)
}

const DROPPED_RANGE = prefixRange(encodeKey('small-dropped'))

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
      const ids = pieces.flatMap((piece) => (isInKv(piece) ? [piece.slice.offset] : []))
      for (const id of ids) pins.set(id, (pins.get(id) ?? 0) + 1)
      const release = (): void => {
        for (const id of ids) {
          const count = (pins.get(id) ?? 0) - 1
          if (count > 0) pins.set(id, count)
          else pins.delete(id)
        }
      }
      return new MixedReader(runsOf(pieces), store, kv, release)
    },
    recycle: (chunk) => store.recycle(chunk),
    sizeBytes: () => store.sizeBytes(),
    close: () => store.close(),
    openBytes: (extent) => store.openBytes(extent),
    seal: (extent) => store.seal(extent),
    isPinned: (extent) => store.isPinned(extent),
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
  return isSmall(piece) && piece[AT_HAND] === undefined
}

/** Consecutive pieces of one kind. */
type Run =
  { readonly small: readonly (Piece | Hole)[] } | { readonly others: readonly (Piece | Hole)[] }

/** Small pieces per read of the kv: about half a MiB. */
const SMALL_AT_ONCE = 64
/** Short holes are read together with small pieces: every other page of a page blob may be a hole. */
const SMALL_HOLE_BYTES_MAX = 8 * 1024

function isShort(piece: Piece | Hole): boolean {
  if (piece.slice === undefined) return piece.lengthBytes <= SMALL_HOLE_BYTES_MAX
  return isSmall(piece)
}

function runsOf(pieces: readonly (Piece | Hole)[]): Run[] {
  const runs: Run[] = []
  let at = 0
  while (at < pieces.length) {
    const first = pieces[at]
    const small = first !== undefined && isShort(first)
    let end = at + 1
    for (let piece = pieces[end]; piece !== undefined && isShort(piece) === small;) {
      if (small && end - at === SMALL_AT_ONCE) break
      end += 1
      piece = pieces[end]
    }
    const run = pieces.slice(at, end)
    runs.push(small ? { small: run } : { others: run })
    at = end
  }
  return runs
}

/** Not a generator, for the same reason as SpanReader: its pins must be released. */
class MixedReader implements AsyncIterableIterator<Uint8Array> {
  readonly #parts: readonly (Extract<Run, { small: unknown }> | AsyncIterableIterator<Uint8Array>)[]
  /** Index of the current part. An index instead of `shift`, which is slow for a hundred thousand parts. */
  #at = 0
  readonly #kv: Kv
  readonly #release: () => void
  #isDone = false

  constructor(runs: readonly Run[], store: SweptExtentStore, kv: Kv, release: () => void) {
    // Start all readers now, to pin the extents.
    this.#parts = runs.map((run) => ('small' in run ? run : store.read(run.others)))
    this.#kv = kv
    this.#release = release
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      for (;;) {
        const part = this.#parts[this.#at]
        if (part === undefined || this.#isDone) return await this.return()
        if ('small' in part) {
          this.#at += 1
          return { value: await readSmall(this.#kv, part.small), done: false }
        }
        const { value, done } = await part.next()
        if (done !== true) return { value, done: false }
        this.#at += 1
      }
    } catch (error) {
      await this.return()
      throw error
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isDone) {
      this.#isDone = true
      const left = this.#parts.slice(this.#at)
      for (const part of left) if (!('small' in part)) await part.return?.()
      this.#release()
    }
    return { value: undefined, done: true }
  }
}

async function readSmall(kv: Kv, pieces: readonly (Piece | Hole)[]): Promise<Uint8Array> {
  const bytes = await kv.read((tx) => readSmallPieces(tx, pieces))
  assert(bytes !== undefined, 'a run of small pieces has no others')
  return bytes
}

/** The bytes of small pieces and holes; undefined if any piece is in an extent file. */
export function* readSmallPieces(
  tx: ReadTx,
  pieces: readonly (Piece | Hole)[],
): Step<Uint8Array | undefined> {
  const parts: Uint8Array[] = []
  for (const piece of pieces) {
    if (piece.slice === undefined) parts.push(new Uint8Array(piece.lengthBytes))
    else if (isSmall(piece)) parts.push(atHand(piece) ?? (yield* readPiece(tx, piece)))
    else return undefined
  }
  return joined(parts)
}

function atHand(piece: Piece): Uint8Array | undefined {
  const bytes = piece[AT_HAND]
  return bytes && usedBytes(piece, bytes)
}

function* readPiece(tx: ReadTx, piece: Piece): Step<Uint8Array> {
  const { offset } = piece.slice
  const record = yield* tx.get(smallKey(offset))
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

export type SmallSweep = {
  readonly nowMs: number
  /** How long unreferenced bytes are kept for readers that may still know them. */
  readonly graceMs?: number
  isPinned(id: number): boolean
}

const GRACE_MS = 30_000
const STEP_COUNT = 256

/** Removes small slices that have been unreferenced for a while; returns how many. */
export async function sweepSmallSlices(
  kv: Kv,
  { nowMs, graceMs = GRACE_MS, isPinned }: SmallSweep,
): Promise<number> {
  let removed = 0
  for await (const page of scanPages(kv, DROPPED_RANGE, STEP_COUNT)) {
    const free = page
      .map(({ key }) => ({ key, id: Number(decodeKey(key)[1]) }))
      .filter(({ id }) => !isPinned(id))
    removed += await kv.write(function* (tx) {
      let count = 0
      for (const { key, id } of free) count += yield* sweepSmallSlice(tx, key, id, nowMs, graceMs)
      return count
    })
    await setImmediate()
  }
  return removed
}

function* sweepSmallSlice(
  tx: Tx,
  key: Key,
  id: number,
  nowMs: number,
  graceMs: number,
): Step<0 | 1> {
  const value = yield* tx.get(key)
  if (value === undefined) return 0
  const references = yield* tx.scan({ ...referencesOfSlice(SMALL_EXTENT, id), countMax: 1 })
  if (references.length > 0) {
    tx.delete(key)
    return 0
  }
  const { sinceMs } = decodeRecord<{ sinceMs?: number }>(value)
  if ((sinceMs ?? nowMs) + graceMs <= nowMs) {
    tx.delete(key)
    tx.delete(smallKey(id))
    return 1
  }
  if (sinceMs === undefined) tx.put(key, encodeRecord({ sinceMs: nowMs }))
  return 0
}
