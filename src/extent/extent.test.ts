// Runs the conformance suite on every extent store, and tests what is specific to each.
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertBytes } from '../../test/assert-bytes.ts'
import { openMemoryEngine } from '../kv/engine/memory.ts'
import { openMemoryKv } from '../kv/memory-kv.ts'
import { openKv, versionsOf } from '../kv/runner/runner.ts'
import { extentConformance } from './conformance.ts'
import { nodesConformance } from './nodes-conformance.ts'
import { chunksOf, Harness, patternBytes, readAll } from './harness.ts'
import { ExtentDamaged, ExtentLimitReached } from './error.ts'
import { openLocalExtents, type LocalExtentOptions } from './file/local.ts'
import { openMemoryExtents } from './memory.ts'
import { wholeSlice } from './content/slice-list.ts'
import type { SweptExtentStore } from './extent.ts'
import { getExtent } from './keys.ts'
import { soleWriter, type Writers } from './writers.ts'

const EXTENT_BYTES = 100_000

extentConformance('memory', async (clock) => {
  const kv = openMemoryKv()
  const store = openMemoryExtents({ kv, clock })
  return { kv, store, close: () => store.close() }
})

for (const [what, waits, directBytesMin] of [
  ['local', false, undefined],
  ['local, on a kv whose reads wait', true, undefined],
  ['local, bypassing the page cache', false, 1],
] as const) {
  extentConformance(what, async (clock) => {
    const folder = await mkdtemp(join(tmpdir(), 'extent-'))
    const kv = openMemoryKv({ waits })
    const sizes = { extentBytes: EXTENT_BYTES, ...(directBytesMin && { directBytesMin }) }
    const options = { folder, kv, clock, writers: soleWriter('a'), ...sizes, openFilesMax: 2 }
    const store = await openLocalExtents(options)
    const close = async () => {
      await store.close()
      await rm(folder, { recursive: true })
    }
    return { kv, store, close }
  })
}

for (const waits of [false, true]) {
  nodesConformance(`a shared folder${waits ? ', on a kv whose reads wait' : ''}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'extent-'))
    const engine = openMemoryEngine({ isShared: true, ...(waits && { waitSeed: 1 }) })
    let count = 0
    return async (clock, writers) => {
      count += 1
      const kv = openKv(engine, { nextVersion: versionsOf(count) })
      const options = { folder, isShared: true, kv, clock, writers, extentBytes: EXTENT_BYTES }
      const store = await openLocalExtents(options)
      const close = async () => {
        await store.close()
        count -= 1
        if (count === 0) await rm(folder, { recursive: true })
      }
      return { kv, store, close }
    }
  })
}

async function inFolder(
  body: (options: LocalExtentOptions, now: { ms: number }) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'extent-'))
  const now = { ms: 1_000_000 }
  const clock = () => now.ms
  try {
    const kv = openMemoryKv()
    await body({ folder, kv, clock, writers: soleWriter('a'), extentBytes: EXTENT_BYTES }, now)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function folderBytes(folder: string): Promise<number> {
  let total = 0
  for (const name of await readdir(folder)) total += (await stat(join(folder, name))).size
  return total
}

test('local: deleting frees space on disk', { timeout: 60_000 }, () =>
  inFolder(async (options, now) => {
    const store = await openLocalExtents(options)
    const harness = new Harness(options.kv, store, now)
    for (let i = 0; i < 50; i += 1) await harness.put(`b${i}`, patternBytes(i, 20_000))
    assert.equal(await folderBytes(options.folder), 1_000_000)
    for (let i = 0; i < 45; i += 1) await harness.delete(`b${i}`)
    await harness.sweepAll()
    assert((await folderBytes(options.folder)) <= 200_000)
    for (let i = 45; i < 50; i += 1) {
      assertBytes(await harness.get(`b${i}`), patternBytes(i, 20_000))
      await harness.delete(`b${i}`)
    }
    await harness.sweepAll()
    assert.deepEqual(await readdir(options.folder), [])
    await store.close()
  }),
)

test('local: a new process writes to new extents, and reads and sweeps the old ones', () =>
  inFolder(async (options, now) => {
    const first = new Harness(options.kv, await openLocalExtents(options), now)
    await first.put('b', patternBytes(1, 1_000))
    const old = await first.pieces('b')
    await first.write(patternBytes(2, 50_000)) // Never referenced.
    const restarted = { ...options, writers: soleWriter('b') }
    const second = new Harness(options.kv, await openLocalExtents(restarted), now)
    await second.sweep()
    assert.deepEqual(await second.get('b'), patternBytes(1, 1_000))
    const piece = await second.write(patternBytes(3, 10))
    assert.notEqual(piece.slice.extent, old?.[0]?.slice.extent)
    await second.sweepAll()
    assert.deepEqual(await second.get('b'), patternBytes(1, 1_000))
    assert((await folderBytes(options.folder)) < 3_000)
    await second.checkSound()
    await second.store.close()
  }))

test('local: a writer that appears while another looks for dead ones is left alone', () =>
  inFolder(async (options) => {
    const openAs = (writers: Writers) => openLocalExtents({ ...options, writers })
    const write = async (store: SweptExtentStore) =>
      (await store.write(chunksOf(patternBytes(1, 1_000)), 1_000, [])).extent
    const dead = await write(await openAs(soleWriter('dead')))
    const young = await openAs({ self: 'young', live: async () => new Set(['dead', 'young']) })
    let youngExtent: number | undefined
    const live = async () => {
      const now = new Set(youngExtent === undefined ? ['b'] : ['b', 'young'])
      youngExtent ??= await write(young)
      return now
    }
    await (await openAs({ self: 'b', live })).sealAbandoned()
    const states = await options.kv.read(function* (tx) {
      const records = [yield* getExtent(tx, dead), yield* getExtent(tx, youngExtent ?? 0)]
      return records.map((record) => record?.state)
    })
    assert.deepEqual(states, ['sealed', 'open'])
  }))

test('local: a file without a record is removed, and its id is not reused', () =>
  inFolder(async (options, now) => {
    const lost = new Harness(options.kv, await openLocalExtents(options), now)
    const piece = await lost.write(patternBytes(1, 1_000))
    await lost.store.close()
    const kv = openMemoryKv()
    const harness = new Harness(kv, await openLocalExtents({ ...options, kv }), now)
    await harness.put('b', patternBytes(2, 1_000))
    const next = await harness.pieces('b')
    assert((next?.[0]?.slice.extent ?? 0) > piece.slice.extent)
    assert.equal((await harness.sweep()).orphanCount, 1)
    assert.equal((await readdir(options.folder)).length, 1)
    await harness.checkSound()
    await harness.store.close()
  }))

test('local: a file without a record stays while it is read', () =>
  inFolder(async (options, now) => {
    const lost = new Harness(options.kv, await openLocalExtents(options), now)
    const bytes = patternBytes(1, 1_000_000)
    const piece = await lost.write(bytes)
    await lost.store.close()
    const kv = openMemoryKv()
    const harness = new Harness(kv, await openLocalExtents({ ...options, kv }), now)
    const reader = harness.store.read([piece])
    const { value: first } = await reader.next()
    assert(first !== undefined)
    const chunks: Uint8Array[] = [Buffer.from(first)]
    assert.equal((await harness.sweep()).orphanCount, 0)
    for await (const chunk of reader) chunks.push(Buffer.from(chunk))
    assertBytes(Buffer.concat(chunks), bytes)
    assert.equal((await harness.sweep()).orphanCount, 1)
    await harness.store.close()
  }))

test('local: cached chunks are dropped with their extent', () =>
  inFolder(async (options, now) => {
    const harness = new Harness(options.kv, await openLocalExtents(options), now)
    await harness.put('b', patternBytes(1, 10_000))
    const pieces = (await harness.pieces('b')) ?? []
    for (let round = 0; round < 3; round += 1) {
      assertBytes(await readAll(harness.store, pieces), patternBytes(1, 10_000))
    }
    await harness.delete('b')
    await harness.sweepAll()
    await assert.rejects(readAll(harness.store, pieces), ExtentDamaged)
    await harness.store.close()
  }))

test('local: cached chunks stay intact though readers recycle them', () =>
  inFolder(async (options, now) => {
    const store = await openLocalExtents({ ...options, chunkCache: { bytesMax: 1_000_000 } })
    const harness = new Harness(options.kv, store, now)
    const bodies = [1, 2, 3].map((seed) => patternBytes(seed, 700_000))
    const pieces = await Promise.all(bodies.map((body) => harness.write(body)))
    for (let round = 0; round < 6; round += 1) {
      const [first, ...others] = pieces.map((piece) => readAll(store, [piece]))
      const again = pieces.map((piece) => readAll(store, [{ ...piece, from: 1, lengthBytes: 9 }]))
      const read = await Promise.all([first, ...others])
      for (const [n, body] of bodies.entries()) {
        assertBytes(read[n], body)
        assert.deepEqual(await again[n], body.subarray(1, 10))
      }
    }
    await store.close()
  }))

test('local: missing bytes and a failing disk are different errors', () =>
  inFolder(async (options) => {
    const store = await openLocalExtents(options)
    const slice = await store.write(chunksOf(patternBytes(1, 1_000)), 1_000, [])
    const beyond = { ...slice, lengthBytes: 2_000 }
    await assert.rejects(readAll(store, [wholeSlice(beyond)]), ExtentDamaged)
    const absent = { ...slice, extent: 77 }
    await assert.rejects(readAll(store, [wholeSlice(absent)]), ExtentDamaged)
    await store.close()
    await assert.rejects(store.write(chunksOf(patternBytes(1, 1)), 1, []), /closed/)
  }))

test('memory: writes over the limit are refused until a sweep frees space', async () => {
  const now = { ms: 1_000_000 }
  const kv = openMemoryKv()
  const store = openMemoryExtents({ kv, clock: () => now.ms, limitBytes: 10_000 })
  const harness = new Harness(kv, store, now)
  await harness.put('a', patternBytes(1, 6_000))
  await assert.rejects(harness.put('b', patternBytes(2, 4_001)), ExtentLimitReached)
  await harness.put('b', patternBytes(2, 4_000))
  await harness.delete('a')
  await harness.sweepAll()
  await harness.put('c', patternBytes(3, 6_000))
  assertBytes(await harness.get('b'), patternBytes(2, 4_000))
  assert.equal(store.sizeBytes(), 10_000)
})
