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
  /** Which way each read of a chunk went since this was asked last. */
  ways(): readonly string[]
}

/** A store on a real disk that tells which descriptors were read from. */
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
      ways.push(direct.has(fd) ? 'around' : 'through')
      return nodeDisk.read(fd, buffer, position)
    },
  }
  const kv = openMemoryKv()
  const store = await openLocalExtents({ folder, kv, clock: () => now.ms, writerId: 'a', disk })
  try {
    await body({
      harness: new Harness(kv, store, now),
      ways: () => {
        const asked = ways
        ways = []
        return asked
      },
    })
  } finally {
    await store.close()
    await rm(folder, { recursive: true })
  }
}

/** Not every file system of a test can go around its cache; to say that one does is enough here. */
const SAYING: Disk['openDirect'] = async (path, use) =>
  fs.openSync(path, use === 'read' ? 'r' : 'r+')

const REFUSING: Disk['openDirect'] = () =>
  Promise.reject(Object.assign(new Error('no such thing'), { code: 'EINVAL' }))

async function readBoth({ harness, ways }: World, piece: Piece, bytes: Buffer) {
  assertBytes(await readAll(harness.store, [piece]), bytes)
  return ways()
}

describe('long bytes', () => {
  test('are read around the cache the first time, and through it since then', () =>
    inWorld(SAYING, async (world) => {
      const bytes = patternBytes(1, BODY_BYTES)
      const piece = await world.harness.write(bytes)
      // Two whole chunks, and a third that is short.
      assert.deepEqual(await readBoth(world, piece, bytes), ['around', 'around', 'through'])
      assert.deepEqual(await readBoth(world, piece, bytes), ['through', 'through', 'through'])
      // Since then they are kept.
      assert.deepEqual(await readBoth(world, piece, bytes), [])
    }))

  test('from within a block are read through the cache', () =>
    inWorld(SAYING, async (world) => {
      const bytes = patternBytes(2, BODY_BYTES)
      const piece = await world.harness.write(bytes)
      const part = { ...piece, from: piece.from + 1, lengthBytes: 300_000 }
      const ways = await readBoth(world, part, bytes.subarray(1, 300_001))
      assert.deepEqual(ways, ['through'])
    }))

  test('that end within a block are as long as they are', () =>
    inWorld(SAYING, async (world) => {
      const bytes = patternBytes(3, 300_001)
      const piece = await world.harness.write(bytes)
      assert.deepEqual(await readBoth(world, piece, bytes), ['around'])
    }))

  test('are read through the cache where the file system knows no other way', () =>
    inWorld(REFUSING, async (world) => {
      const bytes = patternBytes(4, BODY_BYTES)
      const piece = await world.harness.write(bytes)
      assert.deepEqual(await readBoth(world, piece, bytes), ['through', 'through', 'through'])
    }))

  test('that are not there are told', () =>
    inWorld(SAYING, async ({ harness }) => {
      const piece = await harness.write(patternBytes(5, BODY_BYTES))
      const behind = { ...piece, slice: { ...piece.slice, offset: 64 * 4_096 * 4_096 } }
      const elsewhere = { ...piece, slice: { ...piece.slice, extent: 77 } }
      await assert.rejects(readAll(harness.store, [behind]), ExtentDamaged)
      await assert.rejects(readAll(harness.store, [elsewhere]), ExtentDamaged)
    }))
})
