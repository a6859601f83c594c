// The bytes of a file compared with a buffer as model, under random writes, clears and snapshots, also beyond the end;
// and the announced changes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../../test/random.ts'
import { checkStore } from '../../../extent/sweep/fsck.ts'
import { chunksOf, readAll } from '../../../extent/harness.ts'
import { openMemoryExtents } from '../../../extent/memory.ts'
import { withSmallSlices } from '../../../extent/content/small.ts'
import { wholeSlice } from '../../../extent/content/slice-list.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { createMoments } from '../../../node/moment.ts'
import { createFile } from '../tree/create.ts'
import { fileTimeOf } from '../tree/file-time.ts'
import { locate, requireNode, type FileNode } from '../tree/node.ts'
import type { FileEvent } from '../open/open.ts'
import { clearedParts, clearRange, readRange, writeRange } from './range.ts'
import { createShare } from '../share/share-change.ts'
import { snapshotShare } from '../share/share-snapshot.ts'
import { requireShare, shareUsageBytes } from '../share/share.ts'

const SHARE = { account: 'a', share: 'box' }
const FILE = { ...SHARE, path: ['file'] }

async function openWorld(lengthBytes: number) {
  const kv = openMemoryKv<FileEvent>()
  const extents = withSmallSlices(openMemoryExtents({ kv, clock: () => 0 }), kv)
  const now = { ms: Date.UTC(2026, 0) }
  const moment = createMoments(() => now.ms, 0)
  let id = 100
  const newId = () => id++
  const events: FileEvent[] = []
  kv.listen((event) => events.push(event))
  const first = moment()
  await kv.write(function* (tx) {
    yield* createShare(tx, SHARE, { id: 1, metadata: [], provision: {} }, first)
    const at = yield* locate(tx, FILE)
    yield* createFile(tx, at, { nodeId: newId(), properties: {}, lengthBytes }, first)
  })
  const write = async (offset: number, bytes: Uint8Array, settings = {}) => {
    const pieces = [wholeSlice(await extents.write(chunksOf(bytes), bytes.length, []))]
    const change = { moment: moment(), newId: newId(), lastWrite: 'now', grow: true } as const
    return kv.write(function* (tx): Generator<unknown, FileNode, unknown> {
      const file = requireNode(yield* locate(tx, FILE))
      return yield* writeRange(tx, file, { offset, pieces }, { ...change, ...settings })
    })
  }
  const clear = (from: number, to: number) => {
    const change = { moment: moment(), newId: newId(), zerosId: newId(), lastWrite: 'now' } as const
    return kv.write(function* (tx): Generator<unknown, FileNode, unknown> {
      const file = requireNode(yield* locate(tx, FILE))
      return yield* clearRange(tx, file, { from, to }, change)
    })
  }
  const snapshot = async () => {
    const taken = moment()
    return (await kv.write((tx) => snapshotShare(tx, SHARE, undefined, taken))).snapshot
  }
  const read = async (from = 0, to = Infinity, at = {}) => {
    const pieces = await kv.read(function* (tx) {
      const { node } = requireNode(yield* locate(tx, { ...FILE, ...at }))
      return yield* readRange(tx, node, { from, to: Math.min(to, node.lengthBytes) })
    })
    return Buffer.from(await readAll(extents, pieces))
  }
  const usage = () =>
    kv.read(function* (tx) {
      return yield* shareUsageBytes(tx, (yield* requireShare(tx, SHARE)).id)
    })
  const check = () => checkStore(kv, extents)
  return { write, clear, snapshot, read, usage, check, events, now }
}

// prettier-ignore
const PARTS: readonly [from: number, to: number, freed: [number, number] | undefined, zeroed: [number, number][]][] = [
  [0,    512,  [0, 512],    []],
  [0,    513,  [0, 512],    [[512, 513]]],
  [1,    1024, [512, 1024], [[1, 512]]],
  [1,    1500, [512, 1024], [[1, 512], [1024, 1500]]],
  [1,    512,  undefined,   [[1, 512]]],
  [0,    511,  undefined,   [[0, 511]]],
  [500,  600,  undefined,   [[500, 600]]],
  [512,  513,  undefined,   [[512, 513]]],
]
describe('clearing a range frees whole blocks and zeroes the rest', () => {
  const pair = ({ from, to }: { from: number; to: number }) => [from, to]
  for (const [from, to, freed, zeroed] of PARTS) {
    test(`[${from}, ${to})`, () => {
      const parts = clearedParts({ from, to })
      assert.deepEqual(parts.freed && pair(parts.freed), freed)
      assert.deepEqual(parts.zeroed.map(pair), zeroed)
    })
  }
})

for (const seed of [1, 2, 3, 4]) {
  test(`a file and its snapshots match the model after 200 random changes, seed ${seed}`, async () => {
    const random = randomFrom(seed)
    const world = await openWorld(3_000)
    let model: Buffer = Buffer.alloc(3_000)
    const snapshots = new Map<number, Buffer>()
    for (let step = 0; step < 200; step += 1) {
      const from = random.below(model.length)
      const kind = random.below(10)
      if (kind < 6) {
        const bytes = Buffer.alloc(1 + random.below(900), 1 + random.below(255))
        await world.write(from, bytes)
        const longer = Buffer.alloc(Math.max(model.length, from + bytes.length))
        model.copy(longer)
        bytes.copy(longer, from)
        model = longer
      } else if (kind < 9) {
        const to = Math.min(model.length, from + 1 + random.below(2_000))
        await world.clear(from, to)
        model = Buffer.from(model).fill(0, from, to)
      } else {
        snapshots.set(await world.snapshot(), Buffer.from(model))
      }
      const to = Math.min(model.length, from + 700)
      assert(model.subarray(from, to).equals(await world.read(from, to)), `step ${step}`)
    }
    assert(model.equals(await world.read()))
    for (const [snapshot, bytes] of snapshots) {
      assert(bytes.equals(await world.read(0, Infinity, { snapshot })))
    }
    assert.equal(await world.usage(), model.length)
    assert.deepEqual((await world.check()).problems, [])
  })
}

test('a write without `grow` must end inside the file', async () => {
  const world = await openWorld(4)
  await assert.rejects(world.write(2, Buffer.from('abc'), { grow: false }), /must end inside/)
  assert.equal(await world.usage(), 4)
})

test('a write announces what it changed, and may preserve the last write time', async () => {
  const world = await openWorld(4)
  const change = (filter: number) => {
    const place = { kind: 'change', shareId: 1, directoryId: 0, name: 'file', isDirectory: false }
    return { ...place, action: 'modified', filter }
  }
  world.events.length = 0
  world.now.ms += 1_000
  const first = await world.write(0, Buffer.from('ab'), { lastWrite: 'preserve' })
  assert.equal(first.lastWriteTime, first.creationTime)
  assert.equal(first.changeTime, fileTimeOf(world.now.ms))
  // LAST_WRITE and ATTRIBUTES (Archive), then LAST_WRITE and SIZE, then LAST_WRITE.
  assert.deepEqual(world.events, [change(0x14)])
  const grown = await world.write(4, Buffer.from('ab'))
  assert.equal(grown.lastWriteTime, fileTimeOf(world.now.ms))
  await world.clear(0, 1)
  assert.deepEqual(world.events.slice(1), [change(0x18), change(0x10)])
})
