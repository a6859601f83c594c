// Content consists of slices. A slice is a run of bytes that was written once into an extent; a piece is the part of a
// slice that some content still uses. Nothing is overwritten in place, so snapshots and copies share slices, and a
// reader keeps the state that it began with.

/** A whole run of bytes as it was written, with the CRC-32 that `fsck` checks. */
export type Slice = {
  readonly extent: number
  readonly offset: number
  readonly lengthBytes: number
  readonly crc32: number
}

/** The extent of slices that live in the kv (small.ts). */
export const SMALL_EXTENT = 0

/** A symbol, so that the bytes are not part of a record's JSON. */
export const AT_HAND: unique symbol = Symbol('the bytes of a piece’s slice')

/** `lengthBytes` bytes of `slice`, starting at its byte `from`. */
export type Piece = {
  readonly slice: Slice
  readonly from: number
  readonly lengthBytes: number
  /**
   * Base64 of 12 random bytes: the slice is AES-256-CTR ciphertext with this nonce (cipher.ts). A slice is written
   * once with one nonce, so all its pieces have the same, wherever compaction moves it.
   */
  readonly nonce?: string
  /**
   * The bytes of the whole slice, which is small: it is new, or it is stored inside its record
   * (extent/content/map.ts). Such a piece has no reference; adding one stores the bytes.
   */
  readonly [AT_HAND]?: Uint8Array
}

export function isAtHand(piece: Piece): boolean {
  return piece[AT_HAND] !== undefined
}

/** Bytes that were never written, or were cleared: they read as zeros and take no space. */
export type Hole = { readonly slice: undefined; readonly lengthBytes: number }

/**
 * Content that is stored in extents. Records have it in a field named `content`, so that compaction and fsck find the
 * slices of any record. References are counted by the id: it belongs to one record, so a snapshot or a copy has the
 * same pieces under an id of its own. The records of a map share one id, and `at` is the offset of each.
 */
export type Content = ContentId & { readonly pieces: readonly Piece[] }

export type ContentId = { readonly id: number; readonly at?: number }
