// Content is a map of slices. A slice is a run of bytes written once into an extent; a piece is the
// part of a slice that some content still shows. Nothing is overwritten in place, so snapshots and
// copies share slices and a reader keeps the state it began with.

/** Bytes as they were written: whole, with the CRC-32 that `fsck` checks. */
export type Slice = {
  readonly extent: number
  readonly offset: number
  readonly lengthBytes: number
  readonly crc32: number
}

/** The extent of slices that live in the kv (small.ts). */
export const SMALL_EXTENT = 0

/** A symbol, since what is at hand is no part of a record's JSON. */
export const AT_HAND: unique symbol = Symbol('the bytes of a piece’s slice')

/** `lengthBytes` bytes of `slice`, from its byte `from` on. */
export type Piece = {
  readonly slice: Slice
  readonly from: number
  readonly lengthBytes: number
  /**
   * Base64 of 12 random bytes: the slice is AES-256-CTR ciphertext under them (cipher.ts). A slice is
   * written once under one nonce, so all its pieces have the same, wherever compaction moves it.
   */
  readonly nonce?: string
  /**
   * The bytes of all of its slice, which is small: it is new, or its record has them behind itself
   * (extent/content/map.ts). Such a piece has no reference; who adds one stores the bytes.
   */
  readonly [AT_HAND]?: Uint8Array
}

/** Bytes that were never written or were cleared; they read as zeros and take no space. */
export type Hole = { readonly slice: undefined; readonly lengthBytes: number }

/**
 * Content that lives in extents. A record that holds one has it in a field named `content`, so that
 * compaction and fsck find slices in any record. The id is what references are counted by: it belongs
 * to one record alone, so a snapshot or a copy takes the pieces under an id of its own. Content in many
 * records (a map) has one id, and each of its records says where it stands.
 */
export type Content = ContentId & { readonly pieces: readonly Piece[] }

export type ContentId = { readonly id: number; readonly at?: number }
