// The map that a write to a file goes into.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyMap, withMapCopies } from '../../../extent/content/map-copy.ts'
import { mapIntervals, overwriteMap } from '../../../extent/content/map.ts'
import { smallPiece } from '../../../extent/content/small.ts'
import type { Step, Tx } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { need } from '../../../kv/step.ts'
import { writableMap } from './node.ts'

const [OLD_MAP, NEW_MAP] = [7, 8]
const VIEW = { shareId: 1, lastSnapshot: 1 }
/** More than one transaction copies itself. */
const PIECE_COUNT = 1_100

function* fill(tx: Tx, from: number, to: number): Step<void> {
  for (let at = from; at < to; at += 1) {
    yield* overwriteMap(tx, OLD_MAP, at * 100, smallPiece(100 + at, Buffer.from('x')))
  }
}

/** An attempt that has a long map copied and then needs something else: the copy stays. */
function* copyAndStop(tx: Tx): Step<void> {
  yield* copyMap(tx, { of: OLD_MAP, to: NEW_MAP, stamp: 5 })
  yield* need({ kind: 'other' })
}

test('a file that was replaced while its old map was copied starts empty', async () => {
  const kv = withMapCopies(openMemoryKv(), () => 0)
  for (let from = 0; from < PIECE_COUNT; from += 100) {
    await kv.write((tx) => fill(tx, from, from + 100))
  }
  await kv.attempt(copyAndStop)
  const { map } = await kv.write((tx) => writableMap(tx, VIEW, { stamp: 6 }, NEW_MAP))
  assert.equal(map, NEW_MAP)
  const everything = { from: 0, to: Infinity }
  assert.deepEqual(await kv.read((tx) => mapIntervals(tx, NEW_MAP, everything)), [])
})
