// Interval maps against the plainest model there is: an array with one entry for each byte.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffIntervals } from './interval-diff.ts'
import {
  clear,
  clearOverlapping,
  intervalEnd,
  mergeIntervals,
  overlappingIntervals,
  overwrite,
  overwriteOverlapping,
  readIntervals,
  resize,
  writtenRanges,
  type ByteRange,
  type Interval,
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

/** The n-th step writes a slice of its own, of which it shows the part from byte n on. */
function pieceOf(n: number, lengthBytes: number): Piece {
  return {
    slice: { extent: 1, offset: n * 1_000, lengthBytes: 500, crc32: n },
    from: n,
    lengthBytes,
  }
}

function run(edits: readonly EditStep[], first = 0, start: IntervalMap = []): IntervalMap {
  return edits.reduce((map: IntervalMap, edit, i) => {
    const range = { from: edit.from, to: edit.from + edit.lengthBytes }
    if (edit.do === 'clear') return clear(map, range)
    if (edit.do === 'resize') return resize(map, edit.from)
    return overwrite(map, edit.from, pieceOf(first + i, edit.lengthBytes))
  }, start)
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

test('overwrite, clear and resize do what they do to an array', () => {
  fc.assert(
    fc.property(steps, fc.nat(LENGTH), fc.nat(LENGTH), (edits, a, b) => {
      const map = run(edits)
      const model = runModel(edits)
      assert.deepEqual(show(map), model)
      const range = { from: Math.min(a, b), to: Math.max(a, b) }
      assert.deepEqual(show(map, range), model.slice(range.from, range.to))
      assert.deepEqual(show(mergeIntervals(map)), model)
    }),
    { numRuns: 500 },
  )
})

test('a map is sorted, without overlaps and without empty intervals', () => {
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

test('the written ranges are those of the array', () => {
  fc.assert(
    fc.property(steps, (edits) => {
      const model = runModel(edits)
      assert.deepEqual(
        writtenRanges(run(edits)),
        rangesWhere((at) => model[at] !== HOLE),
      )
    }),
  )
})

test('a diff tells what was written since and what was cleared since', () => {
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

test('an edit of the overlapping intervals alone does the same to a keyed map', () => {
  const keyed = new Map<number, Interval>()
  const apply = (edit: IntervalEdit) => {
    for (const offset of edit.remove) assert(keyed.delete(offset), 'removes what is there')
    for (const interval of edit.put) keyed.set(interval.offset, interval)
  }
  const sorted = () => [...keyed.values()].sort((a, b) => a.offset - b.offset)
  fc.assert(
    fc.property(steps, (edits) => {
      keyed.clear()
      for (const [i, edit] of edits.entries()) {
        const to = edit.do === 'resize' ? Infinity : edit.from + edit.lengthBytes
        const range = { from: edit.from, to }
        const overlapping = overlappingIntervals(sorted(), range)
        if (edit.do === 'overwrite') {
          apply(overwriteOverlapping(overlapping, edit.from, pieceOf(i, edit.lengthBytes)))
        } else {
          apply(clearOverlapping(overlapping, range))
        }
      }
      assert.deepEqual(sorted(), run(edits))
    }),
  )
})

test('an encrypted piece keeps its nonce however it is cut, cleared and merged', () => {
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
  const halves = [
    { offset: 0, piece: { ...piece, lengthBytes: 15 } },
    { offset: 15, piece: { ...piece, from: piece.from + 15, lengthBytes: 25 } },
  ]
  assert.deepEqual(mergeIntervals(halves), [{ offset: 0, piece }])
})
