import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cutPiece, encryptedPiece, subRangeOfPieces, wholeSlice } from './slice-list.ts'
import type { Piece, Slice } from './slice.ts'

/** Each byte as the place that it comes from. */
function placesOf(pieces: readonly Piece[]): string[] {
  return pieces.flatMap(({ slice, from, lengthBytes }) =>
    Array.from({ length: lengthBytes }, (_, i) => `${slice.extent}:${slice.offset + from + i}`),
  )
}

const slice = fc
  .record({ extent: fc.nat(2), offset: fc.nat(2).map((n) => n * 10) })
  .map((place): Slice => ({ ...place, lengthBytes: 10, crc32: 0 }))
const piece = fc
  .tuple(slice, fc.nat(10), fc.nat(10))
  .map(([slice, a, b]): Piece => ({ slice, from: Math.min(a, b), lengthBytes: Math.abs(a - b) }))
const list = fc.array(piece, { maxLength: 8 })

test('a sub-range yields the bytes between its bounds', () => {
  fc.assert(
    fc.property(list, fc.nat(90), fc.nat(90), (pieces, from, to) => {
      const range = subRangeOfPieces(pieces, from, to)
      assert.deepEqual(placesOf(range), placesOf(pieces).slice(from, Math.max(from, to)))
    }),
  )
})

const NONCE = Buffer.from('0123456789ab')
const encrypted = encryptedPiece(
  wholeSlice({ extent: 1, offset: 0, lengthBytes: 100, crc32: 7 }),
  NONCE,
)
const nonce = NONCE.toString('base64')

// Operations on an encrypted piece and their results: the nonce stays with the slice's bytes.
const KEPT: readonly (readonly [title: string, pieces: Piece[], expected: object[]])[] = [
  ['whole', [encrypted], [{ from: 0, lengthBytes: 100, nonce }]],
  ['cut', [cutPiece(encrypted, 7, 20)], [{ from: 7, lengthBytes: 20, nonce }]],
  ['a sub-range', subRangeOfPieces([encrypted], 30, 40), [{ from: 30, lengthBytes: 10, nonce }]],
]
for (const [title, pieces, expected] of KEPT) {
  test(`an encrypted slice, ${title}, keeps its nonce`, () => {
    const withoutSlices = pieces.map(({ slice: _slice, ...rest }) => rest)
    assert.deepEqual(withoutSlices, expected)
  })
}
