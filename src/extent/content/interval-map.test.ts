// Compares interval maps with the simplest model: an array with one entry per byte.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffIntervals } from './interval-diff.ts'
import {
  clearOverlapping,
  intervalEnd,
  overlappingIntervals,
  overwriteOverlapping,
  readIntervals,
  type ByteRange,
  type IntervalEdit,
  type IntervalMap,
} from './interval-map.ts'
import type { Piece } from './slice.ts'

const LENGTH = 64
const HOLE = ''
type Model = readonly string[]

const step = fc.oneof(
  fc.record({ do: fc.constant('overwrite' as const), from: fc.nat(50), lengthBytes: fc.nat(14) }),
  fc.record({ do: fc.constant('clear' as const), from: fc.nat(50), lengthBytes: fc.nat(30) }),
  fc.record({ do: fc.constant('resize' as const), from: fc.nat(60), lengthBytes: fc.constant(0) }),
)
type EditStep = typeof step extends fc.Arbitrary<infer S> ? S : never
const steps = fc.array(step, { maxLength: 25 })

/** The n-th step writes a slice of its own and uses it from byte n on. */
function pieceOf(n: number, lengthBytes: number): Piece {
  return {
    slice: { extent: 1, offset: n * 1_000, lengthBytes: 500, crc32: n },
    from: n,
    lengthBytes,
  }
}

function run(edits: readonly EditStep[], first = 0, start: IntervalMap = []): IntervalMap {
  return edits.reduce((map: IntervalMap, edit, i) => {
    if (edit.do === 'overwrite') {
      return overwrite(map, edit.from, pieceOf(first + i, edit.lengthBytes))
    }
    const to = edit.do === 'resize' ? Infinity : edit.from + edit.lengthBytes
    return clear(map, { from: edit.from, to })
  }, start)
}

function overwrite(map: IntervalMap, offset: number, piece: Piece): IntervalMap {
  const range = { from: offset, to: offset + piece.lengthBytes }
  return apply(map, overwriteOverlapping(overlappingIntervals(map, range), offset, piece))
}

function clear(map: IntervalMap, range: ByteRange): IntervalMap {
  return apply(map, clearOverlapping(overlappingIntervals(map, range), range))
}

/** Applies an edit to records by offset, as a stored map does. */
function apply(map: IntervalMap, { remove, put }: IntervalEdit): IntervalMap {
  const records = new Map(map.map((interval) => [interval.offset, interval]))
  for (const offset of remove) assert(records.delete(offset), 'removes an existing record')
  for (const interval of put) records.set(interval.offset, interval)
  return [...records.values()].sort((a, b) => a.offset - b.offset)
}

function runModel(edits: readonly EditStep[], first = 0, start?: Model): Model {
  const model = [...(start ?? Array<string>(LENGTH).fill(HOLE))]
  for (const [i, edit] of edits.entries()) {
    const end = edit.do === 'resize' ? LENGTH : edit.from + edit.lengthBytes
    for (let at = edit.from; at < end; at += 1) {
      const isWritten = edit.do === 'overwrite'
      model[at] = isWritten ? `${(first + i) * 1_000 + first + i + at - edit.from}` : HOLE
    }
  }
  return model.slice(0, LENGTH)
}

function show(map: IntervalMap, range: ByteRange = { from: 0, to: LENGTH }): Model {
  return readIntervals(map, range).flatMap((piece) =>
    Array.from({ length: piece.lengthBytes }, (_, i) =>
      piece.slice === undefined ? HOLE : `${piece.slice.offset + piece.from + i}`,
    ),
  )
}

function rangesWhere(holds: (at: number) => boolean): ByteRange[] {
  const ranges: ByteRange[] = []
  for (let at = 0; at < LENGTH; at += 1) {
    if (!holds(at)) continue
    const last = ranges.at(-1)
    if (last?.to === at) ranges[ranges.length - 1] = { from: last.from, to: at + 1 }
    else ranges.push({ from: at, to: at + 1 })
  }
  return ranges
}

test('overwrite, clear and resize match the array', () => {
  fc.assert(
    fc.property(steps, fc.nat(LENGTH), fc.nat(LENGTH), (edits, a, b) => {
      const map = run(edits)
      const model = runModel(edits)
      assert.deepEqual(show(map), model)
      const range = { from: Math.min(a, b), to: Math.max(a, b) }
      assert.deepEqual(show(map, range), model.slice(range.from, range.to))
    }),
    { numRuns: 500 },
  )
})

test('a map is sorted and has no overlaps and no empty intervals', () => {
  fc.assert(
    fc.property(steps, (edits) => {
      const map = run(edits)
      for (const [i, interval] of map.entries()) {
        assert(interval.piece.lengthBytes > 0)
        const next = map[i + 1]
        assert(next === undefined || intervalEnd(interval) <= next.offset)
      }
    }),
  )
})

test('a diff reports what was written and what was cleared', () => {
  fc.assert(
    fc.property(steps, steps, (edits, later) => {
      const [before, old] = [run(edits), runModel(edits)]
      const [after, now] = [run(later, 100, before), runModel(later, 100, old)]
      const { changed, cleared } = diffIntervals(before, after)
      const isChanged = (at: number) => now[at] !== HOLE && now[at] !== old[at]
      assert.deepEqual(changed, rangesWhere(isChanged))
      assert.deepEqual(
        cleared,
        rangesWhere((at) => now[at] === HOLE && old[at] !== HOLE),
      )
    }),
    { numRuns: 500 },
  )
})

test('an encrypted piece keeps its nonce when it is cut and cleared', () => {
  const nonce = 'MDEyMzQ1Njc4OWFi'
  const piece: Piece = { ...pieceOf(1, 40), nonce }
  const other: Piece = { ...pieceOf(2, 10), nonce: 'YmE5ODc2NTQzMjEw' }
  const map = clear(overwrite(overwrite([], 0, piece), 10, other), { from: 30, to: 35 })
  const noncesOf = (intervals: IntervalMap) => intervals.map((each) => each.piece.nonce)
  assert.deepEqual(noncesOf(map), [nonce, other.nonce, nonce, nonce])
  assert.deepEqual(
    readIntervals(map, { from: 5, to: 33 }).map((each) => 'nonce' in each && each.nonce),
    [nonce, other.nonce, nonce, false],
  )
})
