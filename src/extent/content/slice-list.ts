// A list of pieces, end to end: the content of a block blob. Pure functions; the result shares its slices with the
// input.
import assert from 'node:assert/strict'
import type { Piece, Slice } from './slice.ts'

export function wholeSlice(slice: Slice): Piece {
  return { slice, from: 0, lengthBytes: slice.lengthBytes }
}

/** A piece whose bytes were encrypted with `nonce` (cipher.ts). */
export function encryptedPiece(piece: Piece, nonce: Uint8Array): Piece {
  return { ...piece, nonce: Buffer.from(nonce).toString('base64') }
}

/** Slices are written once, so the place identifies them. */
export function isSameSlice(a: Slice, b: Slice): boolean {
  return a.extent === b.extent && a.offset === b.offset
}

export function piecesLengthBytes(pieces: readonly Piece[]): number {
  return pieces.reduce((total, piece) => total + piece.lengthBytes, 0)
}

/** `lengthBytes` bytes of a piece, starting at its byte `start`. */
export function cutPiece(piece: Piece, start: number, lengthBytes: number): Piece {
  assert(start >= 0 && lengthBytes >= 0 && start + lengthBytes <= piece.lengthBytes)
  if (lengthBytes === piece.lengthBytes) return piece
  return { ...piece, from: piece.from + start, lengthBytes }
}

/** The bytes [from, to) of a list, as far as it reaches. */
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
