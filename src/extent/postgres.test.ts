// The contract of an extent store, over PostgreSQL, and what happens if nodes or connections are lost.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertBytes } from '../../test/assert-bytes.ts'
import { openPostgresEngine } from '../kv/engine/postgres.ts'
import { StoreUnavailable } from '../kv/engine/unavailable.ts'
import { openKv, versionsOf } from '../kv/runner/runner.ts'
import { SKIP_REASON, testServer } from '../postgres/harness.ts'
import { connectionSettings, type ConnectionSettings } from '../postgres/settings.ts'
import { extentConformance } from './conformance.ts'
import type { Piece } from './content/slice.ts'
import {
  BLOB_BYTES,
  checkKnown,
  EXTENT_BYTES,
  kvOn,
  runWorkload,
  volumeOn,
  type Known,
} from './crash-run.ts'
import { openExtents } from './extents.ts'
import { Machine, MachineStopped, type Crash } from './file/disk-simulation.ts'
import { Harness, patternBytes, readAll } from './harness.ts'
import { nodesConformance, type OpenNode } from './nodes-conformance.ts'
import { openPostgresExtents, postgresVolume } from './postgres.ts'
import { soleWriter, type Writers } from './writers.ts'

describe('PostgreSQL', { skip: SKIP_REASON ?? false }, () => {
  extentConformance('PostgreSQL', async (clock) => {
    const openNode = await newStore()
    return openNode(clock, soleWriter('a'))
  })

  nodesConformance('PostgreSQL', newStore)

  for (const takesEffect of [false, true]) {
    const done = takesEffect ? 'after' : 'before'
    test(`a node stops ${done} a call, and another one cleans up`, async () => {
      const callCount = await runUntilNodeStops(undefined)
      assert(callCount > 50)
      // Every eleventh: each run takes a while.
      for (let atCall = takesEffect ? 1 : 6; atCall < callCount - 1; atCall += 11) {
        await runUntilNodeStops({ atCall, takesEffect, keepsUnsynced: true })
      }
    })
  }

  test('a write is stored once or fails, though connections are lost', async () => {
    const { settings, terminateAll } = await newDatabase()
    const { harness, close } = await openHarness(settings, soleWriter('a'))
    const bodies = Array.from({ length: 60 }, (_, i) => patternBytes(i, 30_000 + i))
    const pieces: (Piece | undefined)[] = []
    const upload = async (from: number) => {
      for (let i = from; i < bodies.length; i += 6) {
        if (i % 10 === 0) await terminateAll()
        const body = bodies[i] ?? Buffer.alloc(0)
        pieces[i] = await harness.write(body, 4_000).catch((error: unknown) => {
          assert(error instanceof StoreUnavailable, String(error))
          return undefined
        })
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5].map(upload))
    const stored = pieces.filter((piece) => piece !== undefined)
    assert(stored.length > 0)
    for (const [i, piece] of pieces.entries()) {
      if (piece !== undefined) assertBytes(await readAll(harness.store, [piece]), bodies[i])
    }
    // A connection that was lost while it was idle is replaced without an error.
    await terminateAll()
    await harness.put('after', patternBytes(1, 1_000))
    await terminateAll()
    assertBytes(await harness.get('after'), patternBytes(1, 1_000))
    await close()
  })

  test('no body is in memory as a whole', async () => {
    const { settings } = await newDatabase()
    const { harness, close } = await openHarness(settings, soleWriter('a'))
    const chunk = patternBytes(1, 65_536)
    const chunkCount = 256
    let [given, used, mostHeld] = [0, 0, 0]
    async function* source(): AsyncGenerator<Uint8Array> {
      for (; given < chunkCount; mostHeld = Math.max(mostHeld, given - used)) {
        given += 1
        yield chunk
      }
    }
    await harness.store.write(source(), chunkCount * chunk.length, [], () => (used += 1))
    assert.equal(used, chunkCount)
    assert(mostHeld <= 24, `${mostHeld} of ${chunkCount} chunks at once`)
    await close()
  })
})

async function newDatabase() {
  const server = await testServer()
  const name = await server.newDatabase()
  const others = `datname = '${name}' AND pid <> pg_backend_pid()`
  const text = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`
  return {
    settings: connectionSettings(server.url(name), {}),
    // From another database, so that two of them don't end each other.
    terminateAll: () => server.sql(text),
  }
}

async function openHarness(
  settings: ConnectionSettings,
  writers: Writers,
  options: { readonly machine?: Machine; readonly firstContentId?: number } = {},
) {
  const { machine = new Machine(), firstContentId = 1 } = options
  const engine = await openPostgresEngine(settings)
  const opened = openKv(engine, { nextVersion: versionsOf(engine.number) })
  const kv = kvOn(machine, opened)
  const now = { ms: 1_000_000 }
  const volume = volumeOn(machine, postgresVolume(settings))
  const extentBytes = EXTENT_BYTES
  const store = await openExtents(volume, { kv, clock: () => now.ms, writers, extentBytes })
  const close = async () => {
    await volume.close()
    await opened.close()
  }
  return { harness: new Harness(kv, store, now, firstContentId), close }
}

/** One of two nodes stops, and the other one goes on. Returns the number of calls of the first. */
async function runUntilNodeStops(crash: Crash | undefined): Promise<number> {
  const { settings } = await newDatabase()
  const live = new Set(['a', 'b'])
  const writersOf = (self: string): Writers => ({ self, live: async () => live })
  const machine = new Machine(crash)
  const known: Known = new Map()
  const other = await openHarness(settings, writersOf('b'), { firstContentId: 1_000_000 })
  const closing: (() => Promise<void>)[] = [other.close]
  try {
    const { harness, close } = await openHarness(settings, writersOf('a'), { machine })
    closing.push(close)
    await runWorkload(harness, known)
    assert.equal(crash, undefined, 'the node should have stopped')
  } catch (error) {
    if (!(error instanceof MachineStopped)) throw error
  }
  live.delete('a')
  const { harness } = other
  await checkKnown(harness, known)
  await harness.sweepAll()
  await checkKnown(harness, known)
  const leftBytes = await harness.storedBytes()
  assert(leftBytes <= 2 * known.size * BLOB_BYTES, `${leftBytes} bytes are left`)
  for (const close of closing) await close()
  return machine.callCount
}

async function newStore(): Promise<OpenNode> {
  const { settings } = await newDatabase()
  return async (clock, writers) => {
    const engine = await openPostgresEngine(settings)
    const kv = openKv(engine, { nextVersion: versionsOf(engine.number) })
    const store = await openPostgresExtents({ settings, kv, clock, writers, extentBytes: 100_000 })
    const close = async () => {
      await store.close()
      await kv.close()
    }
    return { kv, store, close }
  }
}
