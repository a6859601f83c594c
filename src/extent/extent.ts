// The contract of extent stores: bulk bytes, written once, in append-only extents that many objects share. Bytes are
// durable before any record refers to them; a sweep frees those that no record refers to.
import type { Hole, Piece, Slice } from './content/slice.ts'

/** Sees every byte of a write in order, in the same pass that stores it (MD5, CRC-64). */
export interface Hasher {
  /** The caller waits for a returned promise: the hasher is busy. */
  update(chunk: Uint8Array): Promise<void> | void
}

export interface ExtentStore {
  /**
   * Stores exactly `lengthBytes` bytes of `source` and resolves when they are durable. Concurrent writes share a
   * sync. If the source ends early, fails or is too long, the promise rejects and the next sweep frees the space.
   * `used` gets each chunk that the store no longer needs, so that its memory can be reused.
   */
  write(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    hashers: readonly Hasher[],
    used?: (chunk: Uint8Array) => void,
  ): Promise<Slice>
  /**
   * Streams pieces in order, at most `aheadCount` chunks ahead of the consumer. From this call until the stream
   * ends or is returned, its extents stay, whatever is deleted meanwhile.
   */
  read(pieces: readonly (Piece | Hole)[], aheadCount?: number): AsyncIterableIterator<Uint8Array>
  /**
   * Optional, for speed: gives back a chunk from `read` that nobody needs any more, so that its memory is reused.
   */
  recycle(chunk: Uint8Array): void
  /** Bytes in extents, for metrics; may lag behind by a minute where other nodes write. */
  sizeBytes(): number
  close(): Promise<void>
}

/** What the sweep and fsck need in addition: sealing, listing and removing extents. */
export interface SweptExtentStore extends ExtentStore {
  /** The size so far of an extent that this store still writes to; undefined for any other. */
  openBytes(extent: number): number | undefined
  /** Starts no more writes in this extent; it is sealed when the current ones are done. */
  seal(extent: number): Promise<void>
  /** Seals extents that other writers left open when they ended. */
  sealAbandoned(): Promise<void>
  /** Keeps the bytes of the extents where they are, whatever is deleted, until the returned function is called. */
  pin(extents: ReadonlySet<number>): () => void
  /** Whether a reader or a pin in this process needs the extent. */
  isPinned(extent: number): boolean
  /**
   * When the oldest open read of this process began, by the sweep's clock; undefined if there is none. A sweep on another
   * node removes nothing that this read may need (`SweepOptions.oldestReadMs`).
   */
  oldestReadMs(): number | undefined
  /** Removes the bytes for good. Ignores missing extents, since a crash may repeat this. */
  remove(extents: readonly number[]): Promise<void>
  /** The extents that have bytes, in no particular order. */
  list(): Promise<readonly number[]>
  /** The stored size; undefined if the extent is missing. */
  storedBytes(extent: number): Promise<number | undefined>
}
