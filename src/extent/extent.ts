// The other seam: bulk bytes, written once, in append-only extents that many objects share. Bytes are
// durable before any record points at them; what no record points at, a sweep gives back to the disk.
import type { Piece, Slice } from './slice.ts'

/** Sees every byte of a write in order, in the same pass that stores it (MD5, CRC-64). */
export interface Hasher {
  update(chunk: Uint8Array): void
}

export interface ExtentStore {
  /**
   * Stores exactly `lengthBytes` bytes of `source` and resolves when they are durable. Writes that are
   * under way together share a sync. If the source ends early, fails or is too long, the promise
   * rejects and the space is given back by the next sweep.
   */
  write(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    hashers: readonly Hasher[],
  ): Promise<Slice>
  /**
   * Streams pieces in order; reads ahead only as fast as it is consumed. From the moment it is called
   * until the stream ends or is returned, the extents it needs stay, whatever is deleted meanwhile.
   */
  read(pieces: readonly Piece[]): AsyncIterableIterator<Uint8Array>
  /** Bytes on disk, for metrics. */
  sizeBytes(): number
  close(): Promise<void>
}
