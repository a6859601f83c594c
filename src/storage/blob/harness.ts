// Fixture for tests of blobs below HTTP: a store in memory, one container, a clock that the test moves, and the
// operations as the front end calls them.
import assert from 'node:assert/strict'
import { checkStore } from '../../extent/sweep/fsck.ts'
import { chunksOf, readAll } from '../../extent/harness.ts'
import { openMemoryExtents } from '../../extent/memory.ts'
import { wholeSlice } from '../../extent/content/slice-list.ts'
import type { Piece } from '../../extent/content/slice.ts'
import { sweepExtents } from '../../extent/sweep/sweep.ts'
import { recordCounts } from '../../kv/counting.ts'
import type { Key, Step, Tx } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { withMapCopies } from '../../extent/content/map-copy.ts'
import { NO_CONDITIONS } from '../shared/condition.ts'
import { openIds } from '../../node/id.ts'
import { createMoments } from '../../node/moment.ts'
import type { ServicePropertiesUpdate } from '../shared/service/service-properties.ts'
import { changeServiceProperties } from '../shared/service/service.ts'
import { findBlobAt, type BlobAddress, type BlobAt } from './blob.ts'
import type { Blob } from './record.ts'
import type { BlobGuard } from './guard.ts'
import { setBlobMetadata } from './change.ts'
import { createContainer, deleteContainer } from './container/container.ts'
import { putBlocks, readContent, type BlobContent } from './content/content.ts'
import { overwriteMap } from '../../extent/content/map.ts'
import { deleteBlob, type DeleteBlob, type Deletion } from './past/delete.ts'
import { checkPutBlob, putBlob, replaceBlob, type PutBody, type Replacement } from './put.ts'
import { snapshotBlob } from './past/snapshot.ts'
import { sweepBlobs } from './sweep.ts'
import { undeleteBlob } from './past/undelete.ts'

export const GUARD: BlobGuard = { conditions: NO_CONDITIONS, readRule: 'any' }
export const DAY_MS = 24 * 60 * 60 * 1_000
const ACCOUNT = 'account'
export const CONTAINER = { account: ACCOUNT, container: 'box' }
const PUT = { guard: GUARD, createOnly: false, headers: {}, metadata: [] }

export type BlobWorld = Awaited<ReturnType<typeof blobWorld>>

export async function blobWorld(options: { readonly waits?: boolean } = {}) {
  const kv = withMapCopies(openMemoryKv(options), () => 0)
  const now = { ms: Date.UTC(2024, 0) }
  const extents = openMemoryExtents({ kv, clock: () => now.ms })
  const newId = await openIds(kv)
  const moment = createMoments(() => now.ms, 0)
  const addressOf = (blob: string, at?: BlobAt): BlobAddress => {
    return { ...CONTAINER, blob, ...(at && { at }) }
  }

  /** Makes bytes durable, as an upload does before its record is written. */
  async function write(bytes: Uint8Array): Promise<Piece> {
    return wholeSlice(await extents.write(chunksOf(bytes), bytes.length, []))
  }

  async function putBody(name: string, body: PutBody): Promise<Blob> {
    const taken = moment()
    return kv.write((tx) => putBlob(tx, addressOf(name), PUT, body, taken))
  }

  async function replace(
    name: string,
    type: Replacement['type'],
    store: (tx: Tx, key: Key) => Step<BlobContent>,
  ): Promise<Blob> {
    const taken = moment()
    return kv.write(function* (tx) {
      const target = yield* checkPutBlob(tx, addressOf(name), PUT, taken.nowMs)
      const content = yield* store(tx, target.key)
      return yield* replaceBlob(tx, addressOf(name), target, PUT, { type, content }, taken)
    })
  }

  await kv.write((tx) => {
    return createContainer(tx, CONTAINER, { id: newId(), metadata: [] }, moment())
  })

  return {
    kv,
    now,
    newId,
    moment,
    write,
    advance: (byMs: number) => {
      now.ms += byMs
    },
    setProperties: (update: ServicePropertiesUpdate) => {
      return kv.write((tx) =>
        changeServiceProperties(tx, { account: ACCOUNT, service: 'blob' }, update),
      )
    },
    putInline: (name: string, bytes: Uint8Array) => putBody(name, { bytes }),
    putWhole: async (name: string, bytes: Uint8Array) => {
      const pieces = [await write(bytes)]
      return putBody(name, { lengthBytes: bytes.length, id: newId(), pieces })
    },
    /** All blocks are parts of one slice, as after a block-by-block copy of a blob. */
    putBlockList: async (name: string, blocks: readonly Uint8Array[]) => {
      const whole = await write(Buffer.concat(blocks))
      let from = 0
      const list = blocks.map(({ length: lengthBytes }, i) => {
        const pieces = [{ ...whole, from, lengthBytes }]
        from += lengthBytes
        return { id: String(i), pieces, lengthBytes }
      })
      const id = newId()
      return replace(name, 'BlockBlob', (tx, key) => putBlocks(tx, key, id, list))
    },
    putPages: async (
      name: string,
      lengthBytes: number,
      pages: readonly (readonly [number, Uint8Array])[],
    ) => {
      const written: [number, Piece][] = []
      for (const [offset, bytes] of pages) written.push([offset, await write(bytes)])
      const map = newId()
      return replace(name, 'PageBlob', function* (tx) {
        for (const [offset, piece] of written) yield* overwriteMap(tx, map, offset, piece)
        return { lengthBytes, map }
      })
    },
    snapshot: (name: string) => {
      const [taken, newIds] = [moment(), [newId(), newId()] as const]
      return kv.write((tx) => {
        return snapshotBlob(tx, addressOf(name), GUARD, { metadata: undefined, newIds }, taken)
      })
    },
    setMetadata: (name: string, value: string) => {
      const [taken, id] = [moment(), newId()]
      return kv.write((tx) =>
        setBlobMetadata(tx, addressOf(name), GUARD, [['a', value]], id, taken),
      )
    },
    delete: (name: string, options: Partial<DeleteBlob> = {}, at?: BlobAt): Promise<Deletion> => {
      const taken = moment()
      return kv.write((tx) =>
        deleteBlob(tx, addressOf(name, at), { guard: GUARD, ...options }, taken),
      )
    },
    undelete: (name: string) => {
      const taken = moment()
      return kv.write((tx) => undeleteBlob(tx, addressOf(name), taken))
    },
    deleteContainer: () => {
      const taken = moment()
      return kv.write((tx) => deleteContainer(tx, CONTAINER, { conditions: NO_CONDITIONS }, taken))
    },
    find: async (name: string, at?: BlobAt): Promise<Blob | undefined> => {
      const { stored } = await kv.read((tx) => findBlobAt(tx, addressOf(name, at), now.ms))
      return stored?.blob
    },
    read: async (name: string, at?: BlobAt): Promise<Buffer | undefined> => {
      const content = await kv.read(function* (tx) {
        const { stored } = yield* findBlobAt(tx, addressOf(name, at), now.ms)
        if (stored === undefined) return undefined
        return yield* readContent(tx, stored, { from: 0, to: stored.blob.lengthBytes })
      })
      if (content === undefined) return undefined
      return 'bytes' in content ? Buffer.from(content.bytes) : readAll(extents, content.pieces)
    },
    sweep: async () => {
      await sweepBlobs(kv, now.ms)
      const options = { clock: () => now.ms, graceMs: 0, sealBytesMin: 1 }
      for (let pass = 0; pass < 4; pass += 1) await sweepExtents(kv, extents, options)
    },
    checkSound: async () => {
      assert.deepEqual((await checkStore(kv, extents)).problems, [])
    },
    /** The number of records of each kind. */
    counts: () => recordCounts(kv),
  }
}

/** Kinds of records that a store without blobs has. */
const PERMANENT = ['next-id', 'extent-next', 'service-properties', 'container', 'container-name']

/** Nothing is left of any blob: no record, no reference, no part of a map, no entry for a sweep. */
export async function checkEmpty(world: BlobWorld): Promise<void> {
  const left = Object.entries(await world.counts()).filter(([kind]) => !PERMANENT.includes(kind))
  assert.deepEqual(left, [])
}
