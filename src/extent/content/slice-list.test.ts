import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  concatenatePieces,
  cutPiece,
  encryptedPiece,
  piecesLengthBytes,
  subRangeOfPieces,
  wholeSlice,
} from './slice-list.ts'
import type { Piece, Slice } from './slice.ts'

/** Each byte as the place it comes from. */
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

test('concatenation is the bytes of one list and then of the other', () => {
  fc.assert(
    fc.property(list, list, (a, b) => {
      const joined = concatenatePieces(a, b)
      assert.deepEqual(placesOf(joined), [...placesOf(a), ...placesOf(b)])
      assert.equal(piecesLengthBytes(joined), placesOf(joined).length)
      assert(joined.every((each) => each.lengthBytes > 0))
    }),
  )
})

test('a sub-range is the bytes between its bounds', () => {
  fc.assert(
    fc.property(list, fc.nat(90), fc.nat(90), (pieces, from, to) => {
      const range = subRangeOfPieces(pieces, from, to)
      assert.deepEqual(placesOf(range), placesOf(pieces).slice(from, Math.max(from, to)))
    }),
  )
})

test('a range cut in two and joined again is what it was', () => {
  const one: Slice = { extent: 1, offset: 0, lengthBytes: 100, crc32: 7 }
  const whole = [{ slice: one, from: 0, lengthBytes: 100 }]
  const parts = [subRangeOfPieces(whole, 0, 40), subRangeOfPieces(whole, 40, 100)]
  assert.deepEqual(concatenatePieces(...parts), whole)
})

const NONCE = Buffer.from('0123456789ab')
const encrypted = encryptedPiece(
  wholeSlice({ extent: 1, offset: 0, lengthBytes: 100, crc32: 7 }),
  NONCE,
)
const plain: Piece = {
  slice: { extent: 1, offset: 100, lengthBytes: 50, crc32: 8 },
  from: 0,
  lengthBytes: 50,
}
const nonce = NONCE.toString('base64')

// What is done to an encrypted piece, and what is left of it: the nonce stays with its slice's bytes.
const KEPT: readonly (readonly [title: string, pieces: Piece[], expected: object[]])[] = [
  ['whole', [encrypted], [{ from: 0, lengthBytes: 100, nonce }]],
  ['cut', [cutPiece(encrypted, 7, 20)], [{ from: 7, lengthBytes: 20, nonce }]],
  ['a sub-range', subRangeOfPieces([encrypted], 30, 40), [{ from: 30, lengthBytes: 10, nonce }]],
  [
    'cut in two and joined',
    concatenatePieces([cutPiece(encrypted, 0, 7)], [cutPiece(encrypted, 7, 93)]),
    [{ from: 0, lengthBytes: 100, nonce }],
  ],
  [
    'beside a plain one',
    concatenatePieces([encrypted], [plain]),
    [
      { from: 0, lengthBytes: 100, nonce },
      { from: 0, lengthBytes: 50 },
    ],
  ],
]
for (const [title, pieces, expected] of KEPT) {
  test(`an encrypted slice, ${title}, keeps its nonce`, () => {
    const shown = pieces.map(({ slice: _slice, ...rest }) => rest)
    assert.deepEqual(shown, expected)
  })
}
