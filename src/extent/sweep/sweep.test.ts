// Something else happens before any transaction of a sweep: no live bytes are lost, and all garbage is freed in the
// end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import type { Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { Harness, patternBytes } from '../harness.ts'
import { Machine, SimulatedDisk } from '../file/disk-simulation.ts'
import { ExtentRetired } from '../error.ts'
import { openLocalExtents } from '../file/local.ts'
import type { Piece } from '../content/slice.ts'
import { sweepExtents } from './sweep.ts'
import { soleWriter } from '../writers.ts'

const OPTIONS = { graceMs: 1_000, sealBytesMin: 1 }

/** Runs `action` once, before the n-th transaction. */
function kvWith(kv: Kv, atCall: number, action: () => Promise<void>): { kv: Kv; count(): number } {
  let callCount = 0
  const before = async () => {
    callCount += 1
    if (callCount === atCall) await action()
  }
  const interrupted: Kv = {
    read: async (body) => {
      await before()
      return kv.read(body)
    },
    write: async (body) => {
      await before()
      return kv.write(body)
    },
    attemptRead: (body) => kv.attemptRead(body),
    attempt: (body) => kv.attempt(body),
    sizeBytes: () => kv.sizeBytes(),
    close: () => kv.close(),
  }
  return { kv: interrupted, count: () => callCount }
}

type Setting = {
  readonly harness: Harness
  readonly now: { ms: number }
  /** The blobs that are left: two of three were deleted. */
  readonly model: Map<string, Buffer>
  /** Durable, not referenced yet. */
  readonly loose: Piece
}

async function prepare(): Promise<Setting> {
  const now = { ms: 1_000_000 }
  const kv = openMemoryKv()
  const disk = new SimulatedDisk().on(new Machine())
  const options = { folder: '/extents', kv, disk, clock: () => now.ms, writers: soleWriter('a') }
  const store = await openLocalExtents({ ...options, extentBytes: 10_000 })
  const harness = new Harness(kv, store, now)
  const model = new Map<string, Buffer>()
  for (let i = 0; i < 9; i += 1) {
    const bytes = patternBytes(i, 4_000)
    await harness.put(`b${i}`, bytes)
    if (i % 3 === 0) model.set(`b${i}`, bytes)
  }
  const loose = await harness.write(patternBytes(99, 10_000))
  for (let i = 0; i < 9; i += 1) if (i % 3 !== 0) await harness.delete(`b${i}`)
  return { harness, now, model, loose }
}

const ACTIONS: Readonly<Record<string, (setting: Setting) => Promise<void>>> = {
  'a blob is deleted': async ({ harness, model }) => {
    await harness.delete('b0')
    model.delete('b0')
  },
  'all blobs are deleted': async ({ harness, model }) => {
    for (const name of model.keys()) await harness.delete(name)
    model.clear()
  },
  'a blob is copied': async ({ harness, model }) => {
    await harness.point('copy', (await harness.pieces('b3')) ?? [])
    model.set('copy', patternBytes(3, 4_000))
  },
  'a blob is replaced': async ({ harness, model }) => {
    await harness.put('b6', patternBytes(66, 4_000))
    model.set('b6', patternBytes(66, 4_000))
  },
  'loose bytes are referenced': async ({ harness, model, loose }) => {
    try {
      await harness.point('loose', [loose])
      model.set('loose', patternBytes(99, 10_000))
    } catch (error) {
      assert(error instanceof ExtentRetired)
    }
  },
  'another sweep runs': async ({ harness, now }) => {
    await sweepExtents(harness.kv, harness.store, { ...OPTIONS, clock: () => now.ms })
  },
}

/** Returns how many transactions the sweeps took. */
async function sweepWith(action: (setting: Setting) => Promise<void>, atCall: number) {
  const setting = await prepare()
  const { harness, model, now } = setting
  const interrupted = kvWith(harness.kv, atCall, () => action(setting))
  for (let pass = 0; pass < 2; pass += 1) {
    now.ms += 1_000
    await sweepExtents(interrupted.kv, harness.store, { ...OPTIONS, clock: () => now.ms })
  }
  await harness.sweepAll()
  for (const [name, bytes] of model) assertBytes(await harness.get(name), bytes)
  await harness.checkSound()
  const liveBytes = [...model.values()].reduce((total, bytes) => total + bytes.length, 0)
  assert(harness.store.sizeBytes() <= 2 * liveBytes, `${harness.store.sizeBytes()} bytes are left`)
  for (const name of model.keys()) await harness.delete(name)
  await harness.sweepAll()
  assert.equal(harness.store.sizeBytes(), 0)
  await harness.store.close()
  return interrupted.count()
}

for (const [title, action] of Object.entries(ACTIONS)) {
  test(`${title} before any transaction of a sweep`, { timeout: 60_000 }, async () => {
    let atCall = 1
    while (atCall <= (await sweepWith(action, atCall))) atCall += 1
    assert(atCall > 20, `a sweep of ${atCall} transactions`)
  })
}

test('a sweep with nothing to do writes nothing', async () => {
  const { harness, now } = await prepare()
  await harness.sweepAll()
  const reads = { ...harness.kv, write: () => assert.fail('a write') }
  const swept = await sweepExtents(reads, harness.store, { clock: () => now.ms })
  assert.equal(swept.retiredCount + swept.removedCount + swept.copiedBytes, 0)
})

test('a pass that has copied enough leaves the rest to the next pass', async () => {
  const { harness, now } = await prepare()
  now.ms += 1_000
  const options = { ...OPTIONS, copyBytesMax: 1 }
  const swept = await sweepExtents(harness.kv, harness.store, { clock: () => now.ms, ...options })
  assert.equal(swept.compactedCount, 1)
  const next = await sweepExtents(harness.kv, harness.store, { clock: () => now.ms, ...options })
  assert.equal(next.compactedCount, 1)
})

test('a reference that is removed during a sweep is handled by the next one', async () => {
  for (let atCall = 1, last = 2; atCall <= last; atCall += 1) {
    const { harness, now, model, loose } = await prepare()
    for (const name of model.keys()) await harness.delete(name)
    for (const name of ['a', 'b']) await harness.put(name, patternBytes(1, 5_000))
    await harness.point('loose', [loose])
    await harness.sweepAll()
    // Half of the extent is live: it is not compacted until the other half is deleted too.
    await harness.delete('a')
    const interrupted = kvWith(harness.kv, atCall, () => harness.delete('b'))
    await sweepExtents(interrupted.kv, harness.store, { ...OPTIONS, clock: () => now.ms })
    last = interrupted.count()
    if (atCall <= last) {
      await harness.sweepAll()
      assert.equal(harness.store.sizeBytes(), 10_000)
    }
  }
})
