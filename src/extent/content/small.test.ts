// Small slices: bytes in the kv that read, share and go like those in extents.
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

    /** A record that shows a small slice of this text. */
    const show = async (id: number, text: string): Promise<Piece> => {
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

    const hide = (id: number, piece: Piece) =>
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
        nowMs,
        isPinned: (id) => store.isSmallPinned(id),
        ...(graceMs !== undefined && { graceMs }),
      })

    const isThere = async (id: number) =>
      (await kv.read((tx) => tx.get(smallKey(id)))) !== undefined

    async function* once(of: string) {
      yield Buffer.from(of)
    }

    test('are read whole, in part, and among others', async () => {
      const one = await show(1, 'abcdef')
      const two = await show(2, 'XYZ')
      const large = wholeSlice(await store.write(once('large'), 5, []))
      const hole = { slice: undefined, lengthBytes: 2 }
      assert.equal(await text([one, two]), 'abcdefXYZ')
      assert.equal(await text([cutPiece(one, 2, 3)]), 'cde')
      assert.equal(await text([large, one, hole, two, large]), 'largeabcdef\0\0XYZlarge')
    })

    test('are read by the hundred', async () => {
      const pieces: Piece[] = []
      for (let id = 1; id <= 200; id++) pieces.push(await show(id, `${id};`))
      const expected = Array.from({ length: 200 }, (_, i) => `${i + 1};`).join('')
      assert.equal(await text(pieces), expected)
    })

    test('go when nothing has shown them for a while', async () => {
      const piece = await show(1, 'abc')
      await hide(1, piece)
      assert.equal(await sweep(), 0)
      nowMs += 29_999
      assert.equal(await sweep(), 0)
      assert.equal(await isThere(1), true)
      nowMs += 1
      assert.equal(await sweep(), 1)
      assert.equal(await isThere(1), false)
      assert.equal(await sweep(), 0)
    })

    test('stay while another record shows them', async () => {
      const piece = await show(1, 'abc')
      await kv.write((tx) => save(tx, 2, { id: 2, pieces: [cutPiece(piece, 1, 1)] }))
      await hide(1, piece)
      assert.equal(await sweep(0), 0)
      assert.equal(await text([cutPiece(piece, 1, 1)]), 'b')
      await hide(2, piece)
      assert.equal(await sweep(0), 1)
    })

    test('stay while somebody reads them, and go when he has left', async () => {
      const piece = await show(1, 'abc')
      const reading = store.read([piece])
      await hide(1, piece)
      assert.equal(await sweep(0), 0)
      const { value } = await reading.next()
      assert.equal(Buffer.from(value ?? []).toString(), 'abc')
      await reading.return?.()
      assert.equal(await sweep(0), 1)
    })

    test('that are dropped again begin their rest anew', async () => {
      const piece = await show(1, 'abc')
      await kv.write((tx) => save(tx, 2, { id: 2, pieces: [piece] }))
      await hide(1, piece)
      await sweep()
      nowMs += 30_000
      await hide(2, piece)
      assert.equal(await sweep(), 0)
      nowMs += 30_000
      assert.equal(await sweep(), 1)
    })

    test('can not be shown without their bytes', async () => {
      const piece = wholeSlice(smallSlice(9, Buffer.from('gone')))
      await assert.rejects(
        kv.write((tx) => save(tx, 9, { id: 9, pieces: [piece] })),
        { name: 'ExtentRetired' },
      )
    })

    test('are checked by fsck', async () => {
      await show(1, 'abc')
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
