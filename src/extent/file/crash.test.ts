// The machine stops at any call of the kv or the disk, during uploads, deletes and compactions. Afterwards, everything
// acknowledged is still stored, and garbage is still freed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kv, ReadTx, Step } from '../../kv/kv.ts'
import { getExtent, keyNumbers, OPEN_RANGE } from '../keys.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { Harness, patternBytes } from '../harness.ts'
import { Machine, MachineStopped, SimulatedDisk, type Crash } from './disk-simulation.ts'
import {
  BLOB_BYTES,
  checkKnown,
  EXTENT_BYTES,
  kvOn,
  runWorkload,
  type Known,
} from '../crash-run.ts'
import { openLocalExtents } from './local.ts'
import { soleWriter } from '../writers.ts'

type World = {
  readonly kv: Kv
  readonly disk: SimulatedDisk
  readonly now: { ms: number }
  processCount: number
  /** Bodies from this length on bypass the page cache. */
  readonly directBytesMin: number
}

function newWorld(directBytesMin: number): World {
  return {
    kv: openMemoryKv(),
    disk: new SimulatedDisk(),
    now: { ms: 1_000_000 },
    processCount: 0,
    directBytesMin,
  }
}

async function openHarness(
  world: World,
  machine: Machine,
  writers = soleWriter(`process ${(world.processCount += 1)}`),
): Promise<Harness> {
  const kv = kvOn(machine, world.kv)
  const store = await openLocalExtents({
    folder: '/extents',
    kv,
    disk: world.disk.on(machine),
    clock: () => world.now.ms,
    writers,
    extentBytes: EXTENT_BYTES,
    directBytesMin: world.directBytesMin,
  })
  return new Harness(kv, store, world.now)
}

/** Runs until the crash, restarts, and checks that the store is sound and holds what is known. */
async function runUntil(
  crash: Crash | undefined,
  directBytesMin: number,
): Promise<{ callCount: number }> {
  const world = newWorld(directBytesMin)
  const machine = new Machine(crash)
  const known: Known = new Map()
  try {
    await runWorkload(await openHarness(world, machine), known)
    assert.equal(crash, undefined, 'the machine should have stopped')
  } catch (error) {
    if (!(error instanceof MachineStopped)) throw error
  }
  world.disk.restart(crash?.keepsUnsynced ?? true)
  const harness = await openHarness(world, new Machine())
  await checkKnown(harness, known)
  await harness.sweepAll()
  await checkKnown(harness, known)
  await harness.store.close()
  // A closed store takes no bytes, so nothing can be compacted.
  await harness.sweepAll({ liveRatioMin: 0 })
  const liveBytes = [...known.keys()].length * BLOB_BYTES
  assert(world.disk.totalBytes() <= 2 * liveBytes, `${world.disk.totalBytes()} bytes are left`)
  return { callCount: machine.callCount }
}

for (const takesEffect of [false, true]) {
  for (const keepsUnsynced of [false, true]) {
    for (const [way, directBytesMin] of [
      ['using', Number.POSITIVE_INFINITY],
      ['bypassing', 1],
    ] as const) {
      const done = takesEffect ? 'after' : 'before'
      const kept = keepsUnsynced ? 'kept' : 'lost'
      const name = `the machine stops ${done} any call, unsynced data is ${kept}`
      test(`${name}, ${way} the page cache`, async () => {
        const { callCount } = await runUntil(undefined, directBytesMin)
        assert(callCount > 50)
        for (let atCall = 1; atCall < callCount - 1; atCall += 1) {
          await runUntil({ atCall, takesEffect, keepsUnsynced }, directBytesMin)
        }
      })
    }
  }
}

/** One of two nodes stops, and the other one goes on. Returns the number of calls of the first. */
async function runUntilNodeStops(crash: Crash | undefined): Promise<number> {
  const world = newWorld(Number.POSITIVE_INFINITY)
  const machine = new Machine(crash)
  const known: Known = new Map()
  const live = new Set(['a', 'b'])
  const writersOf = (self: string) => ({ self, live: async () => live })
  const other = await openHarness(world, new Machine(), writersOf('b'))
  try {
    await runWorkload(await openHarness(world, machine, writersOf('a')), known)
    assert.equal(crash, undefined, 'the node should have stopped')
  } catch (error) {
    if (!(error instanceof MachineStopped)) throw error
  }
  live.delete('a')
  await checkKnown(other, known)
  await other.sweepAll()
  await checkKnown(other, known)
  assert(!(await other.kv.read(writersOfOpen)).includes('a'))
  const liveBytes = known.size * BLOB_BYTES
  assert(world.disk.totalBytes() <= 2 * liveBytes, `${world.disk.totalBytes()} bytes are left`)
  await other.store.close()
  return machine.callCount
}

function* writersOfOpen(tx: ReadTx): Step<readonly (string | undefined)[]> {
  const writers: (string | undefined)[] = []
  for (const key of yield* tx.scanKeys({ ...OPEN_RANGE, countMax: 10 })) {
    writers.push((yield* getExtent(tx, keyNumbers(key)[0] ?? 0))?.writer)
  }
  return writers
}

for (const takesEffect of [false, true]) {
  const done = takesEffect ? 'after' : 'before'
  test(`a node stops ${done} any call, and another one cleans up`, async () => {
    const callCount = await runUntilNodeStops(undefined)
    assert(callCount > 50)
    for (let atCall = 1; atCall < callCount - 1; atCall += 1) {
      await runUntilNodeStops({ atCall, takesEffect, keepsUnsynced: true })
    }
  })
}

test('an extent whose sync failed is not written to again', async () => {
  const world = newWorld(Number.POSITIVE_INFINITY)
  const machine = new Machine()
  let failures = 1
  const disk = world.disk.on(machine)
  const store = await openLocalExtents({
    folder: '/extents',
    kv: world.kv,
    disk: {
      ...disk,
      sync: async (fd) => {
        failures -= 1
        if (failures >= 0) throw Object.assign(new Error('sync'), { code: 'EIO' })
        await disk.sync(fd)
      },
    },
    clock: () => world.now.ms,
    writers: soleWriter('a'),
  })
  const harness = new Harness(world.kv, store, world.now)
  const writes = [1, 2, 3].map((seed) => harness.write(patternBytes(seed, 100)))
  const results = await Promise.allSettled(writes)
  assert(results.every((result) => result.status === 'rejected'))
  await harness.put('b', patternBytes(4, 100))
  await harness.sweepAll()
  assert.deepEqual(await harness.get('b'), patternBytes(4, 100))
  assert.equal(store.sizeBytes(), 100)
})
