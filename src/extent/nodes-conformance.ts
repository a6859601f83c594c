// The contract of extent stores on several nodes: two stores over one kv and the same bytes, in one process. One node
// sweeps, as a rule while the other one works.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBytes } from '../../test/assert-bytes.ts'
import fc from 'fast-check'
import type { Kv } from '../kv/kv.ts'
import { ExtentDamaged, ExtentRetired } from './error.ts'
import type { SweptExtentStore } from './extent.ts'
import { GRACE_MS, Harness, patternBytes, readAll } from './harness.ts'
import { getExtent, type ExtentRecord } from './keys.ts'
import type { Piece } from './content/slice.ts'
import type { SweepOptions } from './sweep/sweep.ts'
import type { Writers } from './writers.ts'

export type OpenNode = (
  clock: () => number,
  writers: Writers,
) => Promise<{ readonly kv: Kv; readonly store: SweptExtentStore; close(): Promise<void> }>

/** Opens a new, empty store; what it returns opens nodes of it. */
export type NewStore = () => Promise<OpenNode>

type World = {
  readonly a: Harness
  readonly b: Harness
  readonly now: { ms: number }
  /** Node `a` ends without closing anything, and does not answer any more. */
  killA(): void
  /** The options of a sweep that knows the readers of all nodes. */
  readonly knowing: Partial<SweepOptions>
}

export function nodesConformance(name: string, newStore: NewStore): void {
  const check = (title: string, body: (world: World) => Promise<void>): void => {
    test(`${name}: ${title}`, { timeout: 60_000 }, async () => {
      const openNode = await newStore()
      const now = { ms: 1_000_000 }
      const live = new Set(['a', 'b'])
      const writersOf = (self: string): Writers => ({ self, live: async () => new Set(live) })
      const a = await openNode(() => now.ms, writersOf('a'))
      const b = await openNode(() => now.ms, writersOf('b'))
      const readers = new Set([a.store, b.store])
      try {
        await body({
          a: new Harness(a.kv, a.store, now),
          b: new Harness(b.kv, b.store, now, 1_000_000),
          now,
          killA: () => {
            live.delete('a')
            readers.delete(a.store)
          },
          knowing: {
            oldestReadMs: async () =>
              Math.min(...[...readers].map((store) => store.oldestReadMs() ?? now.ms)),
          },
        })
      } finally {
        await a.close()
        await b.close()
      }
    })
  }
  checkReading(check)
  checkReaders(check)
  checkWriters(check)
  checkFsck(check)
  checkModel(check)
}

type Check = (title: string, body: (world: World) => Promise<void>) => void

function stateOf({ kv }: Harness, { slice }: Piece): Promise<ExtentRecord | undefined> {
  return kv.read((tx) => getExtent(tx, slice.extent))
}

function checkReading(check: Check): void {
  check('one node reads what the other wrote, also while it writes more', async ({ a, b }) => {
    for (let i = 0; i < 20; i += 1) {
      await a.put(`a${i}`, patternBytes(i, 9_000))
      await b.put(`b${i}`, patternBytes(100 + i, 12_345))
      for (let j = 0; j <= i; j += 1) {
        assertBytes(await b.get(`a${j}`), patternBytes(j, 9_000))
        assertBytes(await a.get(`b${j}`), patternBytes(100 + j, 12_345))
      }
    }
    await b.checkSound()
  })

  check('a body is read while the body before it in the extent is incomplete', async ({ a, b }) => {
    const [first, second] = [patternBytes(1, 10_000), patternBytes(2, 10_000)]
    let proceed = (): void => {}
    const paused = new Promise<void>((resolve) => (proceed = resolve))
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield first.subarray(0, 5_000)
      await paused
      yield first.subarray(5_000)
    }
    const writing = a.store.write(slow(), first.length, [])
    await a.put('second', second)
    assertBytes(await b.get('second'), second)
    proceed()
    const slice = await writing
    await a.point('first', [{ slice, from: 0, lengthBytes: first.length }])
    assertBytes(await b.get('first'), first)
    assertBytes(await b.get('second'), second)
  })

  check('nodes write to extents of their own', async ({ a, b }) => {
    const pieces = [await a.write(patternBytes(1, 10)), await b.write(patternBytes(2, 10))]
    assert.notEqual(pieces[0]?.slice.extent, pieces[1]?.slice.extent)
  })
}

/** Reads the rest of a stream that has begun. */
async function rest(reader: AsyncIterableIterator<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of reader) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

function checkReaders(check: Check): void {
  check('a reader of one node survives the sweep of the other', async ({ a, b, knowing }) => {
    const bytes = patternBytes(5, 2_000_000)
    await a.put('x', bytes)
    const reader = a.store.read((await a.pieces('x')) ?? [])
    const first = await reader.next()
    assert(first.done !== true)
    const begin = Buffer.from(first.value)
    await a.delete('x')
    await b.sweepAll(knowing)
    assertBytes(Buffer.concat([begin, await rest(reader)]), bytes)
    await b.sweepAll(knowing)
    assert.deepEqual(await b.store.list(), [])
  })

  check('bytes stay for a reader that found them before they were deleted', async (world) => {
    const { a, b, now, knowing } = world
    const bytes = patternBytes(6, 200_000)
    await b.put('x', bytes)
    const pieces = (await a.pieces('x')) ?? []
    const [piece] = pieces
    assert(piece !== undefined)
    await b.store.seal(piece.slice.extent)
    await b.delete('x')
    await b.sweep(knowing)
    assert.equal((await stateOf(b, piece))?.state, 'retired')
    now.ms += GRACE_MS / 2
    const reader = a.store.read(pieces)
    for (let pass = 0; pass < 10; pass += 1) await b.sweep({ ...knowing, graceMs: 5 * GRACE_MS })
    assertBytes(await rest(reader), bytes)
    await b.sweep({ ...knowing, graceMs: 5 * GRACE_MS })
    assert.deepEqual(await b.store.list(), [])
  })

  check('what was retired before the oldest read began is removed', async (world) => {
    const { a, b, now, knowing } = world
    await b.put('x', patternBytes(1, 150_000))
    await a.put('y', patternBytes(2, 150_000))
    const gone = (await b.pieces('x')) ?? []
    await b.delete('x')
    await b.sweep(knowing)
    now.ms += 2 * GRACE_MS
    const reader = a.store.read((await a.pieces('y')) ?? [])
    await b.sweepAll(knowing)
    await assert.rejects(readAll(b.store, gone), ExtentDamaged)
    assertBytes(await rest(reader), patternBytes(2, 150_000))
  })

  check('the oldest read counts, from its start to its end', async ({ a, now }) => {
    await a.put('x', patternBytes(1, 10))
    const pieces = (await a.pieces('x')) ?? []
    assert.equal(a.store.oldestReadMs(), undefined)
    const first = a.store.read(pieces)
    const firstMs = now.ms
    now.ms += 1
    const second = a.store.read(pieces)
    assert.equal(a.store.oldestReadMs(), firstMs)
    await first.return?.()
    assert.equal(a.store.oldestReadMs(), firstMs + 1)
    await rest(second)
    assert.equal(a.store.oldestReadMs(), undefined)
  })
}

function checkWriters(check: Check): void {
  check('the extents of a dead writer are sealed and swept', async ({ a, b, killA, knowing }) => {
    const kept = patternBytes(1, 20_000)
    await a.put('kept', kept)
    const loose = await a.write(patternBytes(2, 60_000))
    assert.equal((await stateOf(b, loose))?.state, 'open')
    killA()
    await b.sweepAll(knowing)
    assertBytes(await b.get('kept'), kept)
    assert.equal(await b.storedBytes(), kept.length)
    assert.notEqual((await stateOf(b, loose))?.state, 'open')
    await b.checkSound()
    await b.delete('kept')
    await b.sweepAll(knowing)
    assert.deepEqual(await b.store.list(), [])
  })

  check('a dead writer that did not write any bytes leaves nothing', async ({ a, b, killA }) => {
    async function* failing(): AsyncGenerator<Uint8Array> {
      throw new RangeError('the client went away')
    }
    await assert.rejects(a.store.write(failing(), 10, []), RangeError)
    killA()
    await b.sweepAll()
    assert.deepEqual(await b.store.list(), [])
    await b.checkSound()
  })

  check('the open extent of a living writer is left alone', async ({ a, b, knowing }) => {
    const bytes = patternBytes(1, 20_000)
    const piece = await a.write(bytes)
    await a.put('gone', patternBytes(2, 60_000))
    await a.delete('gone')
    await b.sweepAll(knowing)
    await b.sweepAll(knowing)
    assert.equal((await stateOf(b, piece))?.state, 'open')
    await a.point('x', [piece])
    assertBytes(await b.get('x'), bytes)
  })

  check('a writer that seals its extent while the other seals it for dead', async (world) => {
    const { a, b, killA } = world
    const piece = await a.write(patternBytes(1, 5_000))
    await a.point('x', [piece])
    killA()
    await Promise.all([a.store.seal(piece.slice.extent), b.store.sealAbandoned()])
    assert.equal((await stateOf(b, piece))?.state, 'sealed')
    await b.sweepAll()
    assertBytes(await b.get('x'), patternBytes(1, 5_000))
    await b.checkSound()
  })

  check('a retired extent can not be referenced by its writer', async ({ a, b, knowing }) => {
    const piece = await a.write(patternBytes(5, 50_000))
    await a.store.seal(piece.slice.extent)
    await b.sweep(knowing)
    await assert.rejects(a.point('x', [piece]), ExtentRetired)
    await b.sweep(knowing)
    await assert.rejects(a.point('x', [piece]), ExtentRetired)
  })

  check('bytes that a dead node still adds are removed', async ({ a, b, killA }) => {
    const bytes = patternBytes(3, 30_000)
    let proceed = (): void => {}
    const paused = new Promise<void>((resolve) => (proceed = resolve))
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => (begin = resolve))
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 10_000)
      begin()
      await paused
      yield bytes.subarray(10_000)
    }
    const writing = a.store.write(slow(), bytes.length, [])
    await begun
    killA()
    await b.sweepAll()
    proceed()
    // Its files or rows may be gone.
    await writing.catch(() => undefined)
    await b.sweepAll()
    assert.deepEqual(await b.store.list(), [])
    await b.checkSound()
  })
}

/** A blob is put, read, replaced and deleted by both nodes, and one of them sweeps and compacts. */
async function churn({ a, b, knowing }: World, rounds: number): Promise<void> {
  const work = async (node: Harness, seed: number) => {
    for (let i = 0; i < rounds; i += 1) {
      const name = `x${(i * 7 + seed) % 5}`
      try {
        await node.put(name, patternBytes(seed + i, 20_000 + i))
        const pieces = await node.pieces(name)
        if (pieces !== undefined && i % 3 === 0) await node.point(`copy${seed}`, pieces)
        if (i % 2 === 0) await node.delete(`x${i % 5}`)
      } catch (error) {
        // The test's clock runs fast: the grace period may pass during an upload.
        if (!(error instanceof ExtentRetired)) throw error
      }
    }
  }
  await whileRunning(Promise.all([work(a, 1), work(b, 2)]), async () => {
    await b.sweep(knowing)
  })
}

/** Repeats `action` until `running` has ended, and at least once. */
async function whileRunning(running: Promise<unknown>, action: () => Promise<void>): Promise<void> {
  const state = { isRunning: true }
  const ended = running.finally(() => {
    state.isRunning = false
  })
  const repeating = (async () => {
    do await action()
    while (state.isRunning)
  })()
  await Promise.all([ended, repeating])
}

function checkFsck(check: Check): void {
  check('fsck finds no problems while both nodes work and one sweeps', async (world) => {
    const { a, b } = world
    await whileRunning(churn(world, 40), async () => {
      await a.checkSound()
      await b.checkSound()
    })
    await a.checkSound()
  })
}

const command = fc.record({
  do: fc.constantFrom('put' as const, 'copy' as const, 'delete' as const, 'sweep' as const),
  isOnA: fc.boolean(),
  blob: fc.nat(4),
  from: fc.nat(4),
  kib: fc.nat(40),
})

function checkModel(check: Check): void {
  check('puts, copies, deletes and sweeps of two nodes in any order', async (world) => {
    const { a, b, knowing } = world
    const model = new Map<string, Buffer>()
    let seed = 0
    const property = fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      for (const { do: what, isOnA, blob, from, kib } of commands) {
        const node = isOnA ? a : b
        const name = `m${blob}`
        if (what === 'sweep') await node.sweep(knowing)
        if (what === 'put') {
          const bytes = patternBytes((seed += 1), kib * 1_024)
          await node.put(name, bytes)
          model.set(name, bytes)
        }
        if (what === 'delete') {
          await node.delete(name)
          model.delete(name)
        }
        const pieces = what === 'copy' ? await node.pieces(`m${from}`) : undefined
        const bytes = model.get(`m${from}`)
        if (pieces !== undefined && bytes !== undefined) {
          await node.point(name, pieces)
          model.set(name, bytes)
        }
      }
      for (const [name, bytes] of model) {
        assertBytes(await a.get(name), bytes)
        assertBytes(await b.get(name), bytes)
      }
      await b.checkSound()
    })
    await fc.assert(property, { numRuns: 15 })
  })
}
