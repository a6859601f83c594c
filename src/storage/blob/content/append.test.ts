// Appends: their cost in reads and writes, the limit of 50,000 blocks, and concurrent transactions.
import { countingTx, TxCounts } from '../../../kv/counting.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeSlice } from '../../../extent/content/slice-list.ts'
import { openMemoryExtents } from '../../../extent/memory.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { Kv, Tx } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { NO_CONDITIONS } from '../../shared/condition.ts'
import { createMoments } from '../../../node/moment.ts'
import { APPEND_BLOCK_COUNT_MAX, appendBlock, putAppendBlob, sealAppendBlob } from './append.ts'
import { findBlob, requireBlob } from '../blob.ts'
import type { Blob } from '../record.ts'
import { createContainer } from '../container/container.ts'
import { mapIntervals } from '../../../extent/content/map.ts'

const ADDRESS = { account: 'a', container: 'c', blob: 'log' }
const MAP_ID = 2
const GUARD = { conditions: NO_CONDITIONS, readRule: 'any' } as const
const moment = createMoments(() => 1_000_000, 0)

async function withBlob(kv: Kv): Promise<void> {
  const container = { id: 1, metadata: [] }
  await kv.write((tx) => createContainer(tx, ADDRESS, container, moment()))
  const put = { guard: GUARD, createOnly: false, headers: {}, metadata: [] }
  await kv.write((tx) => putAppendBlob(tx, ADDRESS, put, MAP_ID, moment()))
}

/** Blocks of various lengths, durable in extents. */
async function makeBlocks(kv: Kv, count: number): Promise<Piece[]> {
  const extents = openMemoryExtents({ kv, clock: () => 1_000_000 })
  const pieces: Piece[] = []
  for (let i = 0; i < count; i += 1) {
    const bytes = Buffer.alloc(1 + (i % 7), i)
    const source = (async function* () {
      yield bytes
    })()
    pieces.push(wholeSlice(await extents.write(source, bytes.length, [])))
  }
  return pieces
}

function append(tx: Tx, piece: Piece) {
  const { lengthBytes } = piece
  const request = { guard: GUARD, lengthBytes, appendPosition: undefined, blobBytesMax: undefined }
  const bytes = { lengthBytes, pieces: [piece], encryption: undefined }
  return appendBlock(tx, ADDRESS, request, bytes, moment())
}

const current = (kv: Kv) =>
  kv.read(function* (tx) {
    return requireBlob(yield* findBlob(tx, ADDRESS, 1_000_000)).stored.blob
  })

test('an append costs the same in a blob of one block as in one of a thousand', async () => {
  const kv = openMemoryKv()
  await withBlob(kv)
  const costs: TxCounts[] = []
  for (const piece of await makeBlocks(kv, 1_000)) {
    let counts = new TxCounts()
    await kv.write((tx) => {
      // The body may run again.
      counts = new TxCounts()
      return append(countingTx(tx, counts), piece)
    })
    costs.push(counts)
  }
  const [first] = costs
  // The container, the blob and the extent are read; the block, its reference and the blob are written.
  const { gets, scans, puts, deletes } = first ?? new TxCounts()
  assert.deepEqual({ gets, scans, puts, deletes }, { gets: 3, scans: 0, puts: 3, deletes: 0 })
  for (const cost of costs) assert.deepEqual(cost, first)
})

test('concurrent appends get offsets and block counts without gaps or overlaps', async () => {
  const kv = openMemoryKv({ waits: true })
  await withBlob(kv)
  const blocks = await makeBlocks(kv, 60)
  const done = await Promise.all(
    blocks.map(async (piece) => {
      const { offset, blob } = await kv.write((tx) => append(tx, piece))
      return { offset, blockCount: blob.blockCount ?? 0, piece, stamp: blob.stamp }
    }),
  )
  const sorted = done.toSorted((a, b) => a.offset - b.offset)
  let [end, count, stamp] = [0, 0, 0]
  for (const block of sorted) {
    count += 1
    assert.deepEqual([block.offset, block.blockCount], [end, count])
    assert.ok(block.stamp > stamp, 'a later block has a later ETag')
    end += block.piece.lengthBytes
    stamp = block.stamp
  }
  const blob = await current(kv)
  assert.deepEqual([blob.lengthBytes, blob.blockCount, blob.stamp], [end, 60, stamp])
  const intervals = await kv.read((tx) => mapIntervals(tx, MAP_ID, { from: 0, to: end }))
  assert.deepEqual(
    intervals,
    sorted.map(({ offset, piece }) => ({ offset, piece })),
  )
})

test('a blob takes 50,000 blocks and no more', async () => {
  const kv = openMemoryKv()
  await withBlob(kv)
  const [one, two] = await makeBlocks(kv, 2)
  assert(one !== undefined && two !== undefined)
  await kv.write(function* (tx) {
    const { key, stored } = requireBlob(yield* findBlob(tx, ADDRESS, 1_000_000))
    const full: Blob = { ...stored.blob, blockCount: APPEND_BLOCK_COUNT_MAX - 1 }
    tx.put(key, encodeRecord(full))
  })
  const { blob } = await kv.write((tx) => append(tx, one))
  assert.equal(blob.blockCount, 50_000)
  await assert.rejects(
    kv.write((tx) => append(tx, two)),
    { code: 'BlockCountExceedsLimit' },
  )
  assert.deepEqual(await current(kv), blob)
})

test('a concurrent append either precedes the seal or fails', async () => {
  const outcomes = new Set<unknown>()
  // Start the seal at every point of the append.
  for (let turns = 0; turns <= 12; turns += 1) {
    const kv = openMemoryKv({ waits: true })
    await withBlob(kv)
    const [piece] = await makeBlocks(kv, 1)
    assert(piece !== undefined)
    const appending = kv
      .write((tx) => append(tx, piece))
      .then(
        () => 'appended',
        (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
      )
    for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
    await kv.write((tx) => sealAppendBlob(tx, ADDRESS, GUARD, undefined, moment()))
    const outcome = await appending
    const { isSealed, blockCount } = await current(kv)
    assert.equal(isSealed, true)
    assert.equal(outcome, blockCount === 1 ? 'appended' : 'BlobIsSealed')
    outcomes.add(outcome)
  }
  assert.deepEqual(outcomes, new Set(['BlobIsSealed', 'appended']))
})

test('bytes that were encrypted for a replaced blob are not appended to its successor', async () => {
  const kv = openMemoryKv()
  await withBlob(kv)
  const request = {
    guard: GUARD,
    lengthBytes: 0,
    appendPosition: undefined,
    blobBytesMax: undefined,
  }
  const bytes = { lengthBytes: 0, pieces: [], encryption: { scope: 's' } }
  const appending = kv.write((tx) => appendBlock(tx, ADDRESS, request, bytes, moment()))
  await assert.rejects(appending, { code: 'BlobCustomerSpecifiedEncryptionMismatch' })
})
