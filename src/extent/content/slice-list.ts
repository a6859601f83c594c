// A list of pieces, end to end: what a block blob is. Pure functions; a list shares its slices with
// whatever it was made from.
import assert from 'node:assert/strict'
import type { Piece, Slice } from './slice.ts'

export function wholeSlice(slice: Slice): Piece {
  return { slice, from: 0, lengthBytes: slice.lengthBytes }
}

/** A piece whose bytes were encrypted under `nonce` (cipher.ts). */
export function encryptedPiece(piece: Piece, nonce: Uint8Array): Piece {
  return { ...piece, nonce: Buffer.from(nonce).toString('base64') }
}

/** Slices are written once, so the place says which one it is. */
export function isSameSlice(a: Slice, b: Slice): boolean {
  return a.extent === b.extent && a.offset === b.offset
}

export function piecesLengthBytes(pieces: readonly Piece[]): number {
  return pieces.reduce((total, piece) => total + piece.lengthBytes, 0)
}

/** `lengthBytes` bytes of a piece, from its byte `start` on. */
export function cutPiece(piece: Piece, start: number, lengthBytes: number): Piece {
  assert(start >= 0 && lengthBytes >= 0 && start + lengthBytes <= piece.lengthBytes)
  if (lengthBytes === piece.lengthBytes) return piece
  return { ...piece, from: piece.from + start, lengthBytes }
}

/** One list after another; pieces that continue each other become one, empty ones go. */
export function concatenatePieces(...lists: readonly (readonly Piece[])[]): Piece[] {
  const joined: Piece[] = []
  for (const list of lists) {
    for (const piece of list) {
      const last = joined.at(-1)
      if (last !== undefined && continues(last, piece)) {
        joined[joined.length - 1] = { ...last, lengthBytes: last.lengthBytes + piece.lengthBytes }
      } else if (piece.lengthBytes > 0) {
        joined.push(piece)
      }
    }
  }
  return joined
}

/** The bytes [from, to) of a list; what lies behind its end is left out. */
export function subRangeOfPieces(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const range: Piece[] = []
  let at = 0
  for (const piece of pieces) {
    if (at >= to) break
    const start = Math.max(from - at, 0)
    const end = Math.min(to - at, piece.lengthBytes)
    if (start < end) range.push(cutPiece(piece, start, end - start))
    at += piece.lengthBytes
  }
  return range
}

/** Whether `next` shows the bytes of the slice that follow those of `piece`. */
export function continues(piece: Piece, next: Piece): boolean {
  return isSameSlice(piece.slice, next.slice) && next.from === piece.from + piece.lengthBytes
}
