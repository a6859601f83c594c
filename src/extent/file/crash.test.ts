// The machine stops at any call of the kv or the disk, during uploads, deletes and compactions. Afterwards, everything
// acknowledged is still stored, and garbage is still freed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { Harness, patternBytes } from '../harness.ts'
import { Machine, MachineStopped, SimulatedDisk, type Crash } from './disk-simulation.ts'
import { openLocalExtents } from './local.ts'
import { soleWriter } from '../writers.ts'

const BLOB_COUNT = 9
const BLOB_BYTES = 3_000
const EXTENT_BYTES = 10_000

/** Only writes count as calls: a crash can't tear a read. */
function kvOn(machine: Machine, kv: Kv): Kv {
  return {
    read: (body) => kv.read(body),
    write: (body) => machine.call(() => kv.write(body)),
    attemptRead: (body) => kv.attemptRead(body),
    attempt: (body) => machine.call(() => kv.attempt(body)),
    sizeBytes: () => kv.sizeBytes(),
    close: () => kv.close(),
  }
}

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

async function openHarness(world: World, machine: Machine): Promise<Harness> {
  const kv = kvOn(machine, world.kv)
  const store = await openLocalExtents({
    folder: '/extents',
    kv,
    disk: world.disk.on(machine),
    clock: () => world.now.ms,
    writers: soleWriter(`process ${(world.processCount += 1)}`),
    extentBytes: EXTENT_BYTES,
    directBytesMin: world.directBytesMin,
  })
  return new Harness(kv, store, world.now)
}

/** What a client knows about a blob: stored, deleted, or requested without an answer. */
type Known = Map<string, 'stored' | 'deleted' | 'unknown'>

/** Deletes two of three blobs, so that every extent is compacted; a copy shares a live slice. */
async function run(harness: Harness, known: Known): Promise<void> {
  const change = async (name: string, state: 'stored' | 'deleted', action: () => Promise<void>) => {
    known.set(name, 'unknown')
    await action()
    known.set(name, state)
  }
  for (let i = 0; i < BLOB_COUNT; i += 1) {
    await change(`b${i}`, 'stored', () => harness.put(`b${i}`, patternBytes(i, BLOB_BYTES)))
  }
  const pieces = (await harness.pieces('b0')) ?? []
  await change('copy', 'stored', () => harness.point('copy', pieces))
  for (let i = 0; i < BLOB_COUNT; i += 1) {
    if (i % 3 !== 0) await change(`b${i}`, 'deleted', () => harness.delete(`b${i}`))
  }
  await harness.sweepAll()
  await harness.store.close()
}

async function checkKnown(harness: Harness, known: Known): Promise<void> {
  for (const [name, state] of known) {
    const seed = name === 'copy' ? 0 : Number(name.slice(1))
    const bytes = await harness.get(name)
    if (state === 'stored' || (state === 'unknown' && bytes !== undefined)) {
      assert.deepEqual(bytes, patternBytes(seed, BLOB_BYTES), `${name} is ${state}`)
    } else {
      assert.equal(bytes, undefined)
    }
  }
  await harness.checkSound()
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
    await run(await openHarness(world, machine), known)
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
  await harness.sweepAll()
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
