import assert from 'node:assert/strict'
import fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { nodeDisk, type Disk } from './disk.ts'
import { ExtentDamaged } from '../error.ts'
import { Harness, patternBytes, readAll } from '../harness.ts'
import { openLocalExtents } from './local.ts'
import type { Piece } from '../content/slice.ts'

const BODY_BYTES = 1_200_000
const now = { ms: 1_000_000 }

type World = {
  readonly harness: Harness
  /** How each chunk was read since the last call: directly or through the page cache. */
  ways(): readonly string[]
}

/** A store on a real disk that records which descriptors were read. */
async function inWorld(
  openDirect: Disk['openDirect'],
  body: (world: World) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'direct-reads-'))
  const direct = new Set<number>()
  let ways: string[] = []
  const disk: Disk = {
    ...nodeDisk,
    openDirect: async (path, use) => {
      const fd = await openDirect(path, use)
      direct.add(fd)
      return fd
    },
    open: async (path) => {
      const fd = await nodeDisk.open(path)
      direct.delete(fd)
      return fd
    },
    read: (fd, buffer, position) => {
      ways.push(direct.has(fd) ? 'direct' : 'cached')
      return nodeDisk.read(fd, buffer, position)
    },
  }
  const kv = openMemoryKv()
  const store = await openLocalExtents({ folder, kv, clock: () => now.ms, writerId: 'a', disk })
  try {
    await body({
      harness: new Harness(kv, store, now),
      ways: () => {
        const recorded = ways
        ways = []
        return recorded
      },
    })
  } finally {
    await store.close()
    await rm(folder, { recursive: true })
  }
}

/** Pretends to support direct reads, since the file system of the test may not. */
const PRETENDING: Disk['openDirect'] = async (path, use) =>
  fs.openSync(path, use === 'read' ? 'r' : 'r+')

const REFUSING: Disk['openDirect'] = () =>
  Promise.reject(Object.assign(new Error('no such thing'), { code: 'EINVAL' }))

async function readAndCheck({ harness, ways }: World, piece: Piece, bytes: Buffer) {
  assertBytes(await readAll(harness.store, [piece]), bytes)
  return ways()
}

describe('a long span', () => {
  test('is read directly the first time, and through the page cache from then on', () =>
    inWorld(PRETENDING, async (world) => {
      const bytes = patternBytes(1, BODY_BYTES)
      const piece = await world.harness.write(bytes)
      // Two whole chunks and a short one.
      assert.deepEqual(await readAndCheck(world, piece, bytes), ['direct', 'direct', 'cached'])
      assert.deepEqual(await readAndCheck(world, piece, bytes), ['cached', 'cached', 'cached'])
      // From now on the chunk cache has them.
      assert.deepEqual(await readAndCheck(world, piece, bytes), [])
    }))

  test('that begins inside a block is read through the page cache', () =>
    inWorld(PRETENDING, async (world) => {
      const bytes = patternBytes(2, BODY_BYTES)
      const piece = await world.harness.write(bytes)
      const part = { ...piece, from: piece.from + 1, lengthBytes: 300_000 }
      const ways = await readAndCheck(world, part, bytes.subarray(1, 300_001))
      assert.deepEqual(ways, ['cached'])
    }))

  test('that ends inside a block has its exact length', () =>
    inWorld(PRETENDING, async (world) => {
      const bytes = patternBytes(3, 300_001)
      const piece = await world.harness.write(bytes)
      assert.deepEqual(await readAndCheck(world, piece, bytes), ['direct'])
    }))

  test('is read through the page cache if the file system does not support direct reads', () =>
    inWorld(REFUSING, async (world) => {
      const bytes = patternBytes(4, BODY_BYTES)
      const piece = await world.harness.write(bytes)
      assert.deepEqual(await readAndCheck(world, piece, bytes), ['cached', 'cached', 'cached'])
    }))

  test('that is missing is reported as damage', () =>
    inWorld(PRETENDING, async ({ harness }) => {
      const piece = await harness.write(patternBytes(5, BODY_BYTES))
      const behind = { ...piece, slice: { ...piece.slice, offset: 64 * 4_096 * 4_096 } }
      const elsewhere = { ...piece, slice: { ...piece.slice, extent: 77 } }
      await assert.rejects(readAll(harness.store, [behind]), ExtentDamaged)
      await assert.rejects(readAll(harness.store, [elsewhere]), ExtentDamaged)
    }))
})
