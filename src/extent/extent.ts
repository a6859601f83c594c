// The other seam: bulk bytes, written once, in append-only extents that many objects share. Bytes are
// durable before any record points at them; what no record points at, a sweep gives back to the disk.
import type { Hole, Piece, Slice } from './content/slice.ts'

/** Sees every byte of a write in order, in the same pass that stores it (MD5, CRC-64). */
export interface Hasher {
  /** May ask to wait: it has as much as it can take for now. */
  update(chunk: Uint8Array): Promise<void> | void
}

export interface ExtentStore {
  /**
   * Stores exactly `lengthBytes` bytes of `source` and resolves when they are durable. Writes that are
   * under way together share a sync. If the source ends early, fails or is too long, the promise
   * rejects and the space is given back by the next sweep. `used` gets the chunks that the store has
   * done with, if it does not keep them, for whoever has a use for their memory.
   */
  write(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    hashers: readonly Hasher[],
    used?: (chunk: Uint8Array) => void,
  ): Promise<Slice>
  /**
   * Streams pieces in order; reads ahead only as fast as it is consumed, by `aheadCount` chunks. From the moment it is called
   * until the stream ends or is returned, the extents it needs stay, whatever is deleted meanwhile.
   */
  read(pieces: readonly (Piece | Hole)[], aheadCount?: number): AsyncIterableIterator<Uint8Array>
  /**
   * For speed, if the consumer likes: a chunk that `read` gave is needed by nobody any more (the socket
   * has it), and its memory may be used for another.
   */
  recycle(chunk: Uint8Array): void
  /** Bytes on disk, for metrics. */
  sizeBytes(): number
  close(): Promise<void>
}

/** What the sweep and fsck need besides: an extent as a thing that is sealed and removed. */
export interface SweptExtentStore extends ExtentStore {
  /** Bytes taken so far of an extent that this store still writes to; undefined of any other. */
  openBytes(extent: number): number | undefined
  /** No more writes begin in this extent; it is sealed when those under way are done. */
  seal(extent: number): Promise<void>
  /** Whether a reader of this process needs it. */
  isPinned(extent: number): boolean
  /** Removes the bytes for good. Extents that are not there are not missed: a crash repeats this. */
  remove(extents: readonly number[]): Promise<void>
  /** The extents whose bytes are there, in no order. */
  list(): Promise<readonly number[]>
  /** How many bytes are there; undefined if the extent is not. */
  storedBytes(extent: number): Promise<number | undefined>
}
