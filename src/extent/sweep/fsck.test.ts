// Causes every kind of damage to a store and checks that fsck reports it.
import { StoredRecord } from '../../kv/record.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeRecord } from '../../kv/record.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { testBlobKey, Harness, patternBytes } from '../harness.ts'
import { Machine, SimulatedDisk } from '../file/disk-simulation.ts'
import { checkStore, type Problem } from './fsck.ts'
import { extentKey, referenceKey } from '../keys.ts'
import { openLocalExtents } from '../file/local.ts'
import { soleWriter } from '../writers.ts'
import type { Slice } from '../content/slice.ts'
import type { Disk } from '../file/disk.ts'
import type { Key, Kv } from '../../kv/kv.ts'
import { withSmallSlices } from '../content/small.ts'
import type { SweptExtentStore } from '../extent.ts'

type Setting = { readonly harness: Harness; readonly disk: Disk; readonly slice: Slice }

async function prepare(): Promise<Setting> {
  const now = { ms: 1_000_000 }
  const kv = openMemoryKv()
  const disk = new SimulatedDisk().on(new Machine())
  const writers = soleWriter('a')
  const options = { folder: '/x', kv, disk, clock: () => now.ms, writers, extentBytes: 100 }
  const harness = new Harness(kv, await openLocalExtents(options), now)
  await harness.put('b', patternBytes(1, 1_000))
  await harness.store.close()
  const slice = (await harness.pieces('b'))?.[0]?.slice
  assert(slice !== undefined)
  return { harness, disk, slice }
}

const path = (slice: Slice) => `/x/${slice.extent.toString(16).padStart(14, '0')}.extent`

async function putRecord(harness: Harness, key: Key, fields: object, bytes?: Uint8Array) {
  await harness.kv.write(function* (tx) {
    tx.put(key, encodeRecord(fields, bytes))
  })
}

async function deleteRecord(harness: Harness, key: Key) {
  await harness.kv.write(function* (tx) {
    tx.delete(key)
  })
}

const WRONGS: readonly [string, (setting: Setting) => Promise<void>, readonly Problem['kind'][]][] =
  [
    ['nothing', async () => {}, []],
    [
      'a flipped byte',
      async ({ disk, slice }) => {
        await disk.remove(path(slice))
        const bytes = patternBytes(1, 1_000)
        bytes.writeUInt8(bytes.readUInt8(500) ^ 1, 500)
        await disk.write(await disk.create(path(slice)), [bytes], 0)
      },
      ['sliceDamaged'],
    ],
    [
      'a file that is too short',
      async ({ disk, slice }) => {
        await disk.remove(path(slice))
        await disk.write(await disk.create(path(slice)), [Buffer.alloc(10)], 0)
      },
      ['sliceDamaged'],
    ],
    [
      'a missing file',
      ({ disk, slice }) => disk.remove(path(slice)),
      ['sliceDamaged', 'fileMissing'],
    ],
    [
      'a file without a record',
      async ({ disk, slice }) => {
        await disk.create(path({ ...slice, extent: 99 }))
      },
      ['fileWithoutRecord'],
    ],
    [
      'a missing reference',
      ({ harness, slice }) =>
        deleteRecord(harness, referenceKey(slice.extent, slice.offset, { id: 1 })),
      ['referenceMissing'],
    ],
    [
      'a missing owner',
      ({ harness }) => deleteRecord(harness, testBlobKey('b')),
      ['referenceWithoutOwner'],
    ],
    [
      'a missing extent',
      ({ harness, slice }) => deleteRecord(harness, extentKey(slice.extent)),
      ['extentMissing', 'fileWithoutRecord'],
    ],
    [
      'an extent that ends before its slice',
      ({ harness, slice }) =>
        putRecord(harness, extentKey(slice.extent), {
          state: 'sealed',
          sizeBytes: 10,
          writer: 'a',
        }),
      ['sliceOutsideExtent'],
    ],
    [
      'a piece that is longer than its slice',
      ({ harness, slice }) => {
        const content = { id: 1, pieces: [{ slice, from: 999, lengthBytes: 2 }] }
        return putRecord(harness, testBlobKey('b'), { content })
      },
      ['pieceOutsideSlice'],
    ],
    [
      'inline bytes of the wrong length',
      async ({ harness }) => {
        await putRecord(
          harness,
          testBlobKey('i'),
          { inline: true, lengthBytes: 3 },
          Buffer.alloc(4),
        )
        await putRecord(
          harness,
          testBlobKey('j'),
          { inline: true, lengthBytes: 4 },
          Buffer.alloc(4),
        )
      },
      ['inlineLength'],
    ],
    [
      'an unreadable record',
      ({ harness }) =>
        harness.kv.write(function* (tx) {
          tx.put(testBlobKey('x'), new StoredRecord(Buffer.from('not a record')))
        }),
      ['recordUnreadable'],
    ],
  ]

for (const [title, harm, kinds] of WRONGS) {
  test(`fsck reports ${title}`, async () => {
    const setting = await prepare()
    await harm(setting)
    const check = await checkStore(setting.harness.kv, setting.harness.store)
    assert.deepEqual(
      check.problems.map((problem) => problem.kind),
      kinds,
    )
    assert.equal(check.problemCount, kinds.length)
  })
}

test('fsck counts all problems and lists no more than its limit', async () => {
  const { harness } = await prepare()
  for (let i = 0; i < 300; i += 1)
    await putRecord(harness, testBlobKey(`i${i}`), { inline: true, lengthBytes: 1 })
  const check = await checkStore(harness.kv, harness.store, { problemsMax: 7 })
  assert.equal(check.problems.length, 7)
  assert.equal(check.problemCount, 300)
  assert.equal(check.contentCount, 1)
  assert.equal(check.referenceCount, 1)
  assert.equal(check.extentCount, 1)
  assert.equal(check.checkedBytes, 1_000)
  assert.equal(check.recordCount, 300 + 5)
})

/** Runs `action` once, before the n-th transaction of the check or the n-th time that it asks for bytes. */
function interrupt({ kv, store }: Harness, atCall: number, action: () => Promise<void>) {
  let callCount = 0
  const before = async () => {
    callCount += 1
    if (callCount === atCall) await action()
  }
  const interruptedKv: Kv = {
    ...kv,
    read: async (body) => {
      await before()
      return kv.read(body)
    },
  }
  async function* read(pieces: Parameters<SweptExtentStore['read']>[0]) {
    await before()
    yield* store.read(pieces)
  }
  const interruptedStore: SweptExtentStore = {
    // An object with all methods of the store.
    ...withSmallSlices(store, kv),
    read,
    list: async () => {
      const extents = await store.list()
      await before()
      return extents
    },
    storedBytes: async (extent) => {
      await before()
      return store.storedBytes(extent)
    },
  }
  return { kv: interruptedKv, store: interruptedStore, count: () => callCount }
}

const BLOB_COUNT = 6

async function prepareMany(): Promise<Harness> {
  const now = { ms: 1_000_000 }
  const kv = openMemoryKv()
  const disk = new SimulatedDisk().on(new Machine())
  const writers = soleWriter('a')
  const options = { folder: '/x', kv, disk, clock: () => now.ms, writers, extentBytes: 3_000 }
  const harness = new Harness(kv, await openLocalExtents(options), now)
  for (let i = 0; i < BLOB_COUNT; i += 1) await harness.put(`b${i}`, patternBytes(i, 1_000))
  await harness.point('copy', (await harness.pieces('b0')) ?? [])
  return harness
}

const ACTIONS: Readonly<Record<string, (harness: Harness) => Promise<void>>> = {
  'everything is deleted and swept': async (harness) => {
    for (let i = 0; i < BLOB_COUNT; i += 1) await harness.delete(`b${i}`)
    await harness.delete('copy')
    await harness.sweepAll()
    assert.deepEqual(await harness.store.list(), [])
  },
  'most is deleted, and the rest is moved': async (harness) => {
    for (let i = 0; i < BLOB_COUNT; i += 1) if (i % 3 !== 0) await harness.delete(`b${i}`)
    await harness.sweepAll()
  },
  'blobs are replaced': async (harness) => {
    for (let i = 0; i < BLOB_COUNT; i += 1) await harness.put(`b${i}`, patternBytes(9 + i, 2_000))
    await harness.sweepAll()
  },
}

for (const [title, action] of Object.entries(ACTIONS)) {
  test(`fsck reports nothing if ${title} before any of its steps`, async () => {
    let callCount = 1
    for (let atCall = 1; atCall <= callCount; atCall += 1) {
      const harness = await prepareMany()
      const { kv, store, count } = interrupt(harness, atCall, () => action(harness))
      assert.deepEqual((await checkStore(kv, store)).problems, [])
      callCount = count()
    }
    assert(callCount > 20, `${callCount} steps`)
  })
}

test('fsck reports a damaged slice whose first owner is deleted meanwhile', async () => {
  const { harness, disk, slice } = await prepare()
  await harness.point('a-copy', (await harness.pieces('b')) ?? [])
  await disk.remove(path(slice))
  await disk.write(await disk.create(path(slice)), [Buffer.alloc(1_000)], 0)
  const { store } = interrupt(harness, 1, () => harness.delete('b'))
  const { problems } = await checkStore(harness.kv, store)
  assert.deepEqual(
    problems.map(({ kind, key }) => [kind, key]),
    [['sliceDamaged', JSON.stringify(['blob', 1, 'a-copy'])]],
  )
})
