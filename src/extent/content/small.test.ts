// Small slices: bytes in the kv that are read, shared and freed like those in extents.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { encodeKey } from '../../kv/key.ts'
import type { Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { checkStore } from '../sweep/fsck.ts'
import { openMemoryExtents } from '../memory.ts'
import { addReferences, removeReferences } from './reference.ts'
import { cutPiece, wholeSlice } from './slice-list.ts'
import type { Content, Hole, Piece } from './slice.ts'
import {
  putSmallSlice,
  smallKey,
  smallSlice,
  sweepSmallSlices,
  withSmallSlices,
  type SmallSliceStore,
} from './small.ts'

for (const waits of [false, true]) {
  describe(`small slices${waits ? ', on an engine whose reads wait' : ''}`, () => {
    let kv: Kv
    let store: SmallSliceStore
    let nowMs: number

    beforeEach(() => {
      kv = openMemoryKv({ waits })
      store = withSmallSlices(openMemoryExtents({ kv, clock: () => nowMs }), kv)
      nowMs = 1_000_000
    })

    const owner = (id: number) => encodeKey('owner', id)

    /** Puts a record with a small slice of this text. */
    const put = async (id: number, text: string): Promise<Piece> => {
      const bytes = Buffer.from(text)
      const piece = wholeSlice(smallSlice(id, bytes))
      await kv.write(function* (tx) {
        putSmallSlice(tx, id, bytes)
        yield* save(tx, id, { id, pieces: [piece] })
      })
      return piece
    }

    function* save(tx: Parameters<typeof addReferences>[0], id: number, content: Content) {
      yield* addReferences(tx, owner(id), content)
      tx.put(owner(id), encodeRecord({ content }))
    }

    const remove = (id: number, piece: Piece) =>
      kv.write(function* (tx) {
        yield* removeReferences(tx, { id, pieces: [piece] })
        tx.delete(owner(id))
      })

    const text = async (pieces: readonly (Piece | Hole)[]): Promise<string> => {
      const chunks: Uint8Array[] = []
      for await (const chunk of store.read(pieces)) chunks.push(Buffer.from(chunk))
      return Buffer.concat(chunks).toString()
    }

    const sweep = (graceMs?: number) =>
      sweepSmallSlices(kv, {
        clock: () => nowMs,
        isPinned: (id) => store.isSmallPinned(id),
        ...(graceMs !== undefined && { graceMs }),
      })

    const exists = async (id: number) => (await kv.read((tx) => tx.get(smallKey(id)))) !== undefined

    async function* once(of: string) {
      yield Buffer.from(of)
    }

    test('are read whole, in part, and mixed with other pieces', async () => {
      const one = await put(1, 'abcdef')
      const two = await put(2, 'XYZ')
      const large = wholeSlice(await store.write(once('large'), 5, []))
      const hole = { slice: undefined, lengthBytes: 2 }
      assert.equal(await text([one, two]), 'abcdefXYZ')
      assert.equal(await text([cutPiece(one, 2, 3)]), 'cde')
      assert.equal(await text([large, one, hole, two, large]), 'largeabcdef\0\0XYZlarge')
    })

    test('are read in large numbers', async () => {
      const pieces: Piece[] = []
      for (let id = 1; id <= 200; id++) pieces.push(await put(id, `${id};`))
      const expected = Array.from({ length: 200 }, (_, i) => `${i + 1};`).join('')
      assert.equal(await text(pieces), expected)
    })

    test('are removed when they have been unreferenced for a while', async () => {
      const piece = await put(1, 'abc')
      await remove(1, piece)
      assert.equal(await sweep(), 0)
      nowMs += 29_999
      assert.equal(await sweep(), 0)
      assert.equal(await exists(1), true)
      nowMs += 1
      assert.equal(await sweep(), 1)
      assert.equal(await exists(1), false)
      assert.equal(await sweep(), 0)
    })

    test('stay while another record references them', async () => {
      const piece = await put(1, 'abc')
      await kv.write((tx) => save(tx, 2, { id: 2, pieces: [cutPiece(piece, 1, 1)] }))
      await remove(1, piece)
      assert.equal(await sweep(0), 0)
      assert.equal(await text([cutPiece(piece, 1, 1)]), 'b')
      await remove(2, piece)
      assert.equal(await sweep(0), 1)
    })

    test('stay while they are read, and are removed afterwards', async () => {
      const piece = await put(1, 'abc')
      const reading = store.read([piece])
      await remove(1, piece)
      assert.equal(await sweep(0), 0)
      const { value } = await reading.next()
      assert.equal(Buffer.from(value ?? []).toString(), 'abc')
      await reading.return?.()
      assert.equal(await sweep(0), 1)
    })

    test('stay for readers of other nodes that may know them', async () => {
      const piece = await put(1, 'abc')
      await remove(1, piece)
      const droppedAtMs = nowMs
      await sweep()
      nowMs += 100_000
      const isPinned = () => false
      const sweepWith = (oldestReadMs: number) =>
        sweepSmallSlices(kv, {
          clock: () => nowMs,
          oldestReadMs: async () => oldestReadMs,
          isPinned,
        })
      assert.equal(await sweepWith(droppedAtMs), 0)
      assert.equal(await sweepWith(droppedAtMs + 29_999), 0)
      assert.equal(await sweepWith(droppedAtMs + 30_000), 1)
    })

    test('count from the time at which a sweep has seen them, however long it takes', async () => {
      const pieces = await Promise.all([1, 2, 3].map((id) => put(id, 'abc')))
      for (const [at, piece] of pieces.entries()) await remove(at + 1, piece)
      // An hour passes between the beginning of the sweep and its first transaction.
      let calls = 0
      const clock = () => (calls++ === 0 ? nowMs : nowMs + 3_600_000)
      const slow = { clock, isPinned: () => false }
      assert.equal(await sweepSmallSlices(kv, slow), 0)
      nowMs += 3_600_000 + 29_999
      assert.equal(await sweep(), 0)
      nowMs += 1
      assert.equal(await sweep(), 3)
    })

    test('are read by readers that count as open reads', async () => {
      const piece = await put(1, 'abc')
      const reading = store.read([piece])
      const begunAtMs = nowMs
      nowMs += 5
      assert.equal(store.oldestReadMs(), begunAtMs)
      await reading.return?.()
      assert.equal(store.oldestReadMs(), undefined)
    })

    test('that are dropped again get a new grace period', async () => {
      const piece = await put(1, 'abc')
      await kv.write((tx) => save(tx, 2, { id: 2, pieces: [piece] }))
      await remove(1, piece)
      await sweep()
      nowMs += 30_000
      await remove(2, piece)
      assert.equal(await sweep(), 0)
      nowMs += 30_000
      assert.equal(await sweep(), 1)
    })

    test('can not be referenced without their bytes', async () => {
      const piece = wholeSlice(smallSlice(9, Buffer.from('gone')))
      await assert.rejects(
        kv.write((tx) => save(tx, 9, { id: 9, pieces: [piece] })),
        { name: 'ExtentRetired' },
      )
    })

    test('are checked by fsck', async () => {
      await put(1, 'abc')
      assert.deepEqual((await checkStore(kv, store)).problems, [])
      await kv.write(function* (tx) {
        putSmallSlice(tx, 1, Buffer.from('abd'))
      })
      const damaged = await checkStore(kv, store)
      assert.deepEqual(damaged.problems.map(({ kind }) => kind), ['sliceDamaged']) // prettier-ignore
      await kv.write(function* (tx) {
        tx.delete(smallKey(1))
      })
      const missing = await checkStore(kv, store)
      assert.deepEqual(missing.problems.map(({ kind }) => kind), ['extentMissing', 'sliceDamaged']) // prettier-ignore
    })
  })
}
