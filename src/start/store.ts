// Opens a store: the kv and the extents of a folder, or of memory, with the ids, the moments and the
// sweep that go with them. Extents rest and are swept by the machine's clock: a clock that a caller holds
// must not keep garbage, or take bytes from under a reader.
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { nodeDisk } from '../extent/disk.ts'
import type { SweptExtentStore } from '../extent/extent.ts'
import { HashThreads } from '../extent/hash-threads.ts'
import { openLocalExtents } from '../extent/local.ts'
import { openMemoryExtents } from '../extent/memory.ts'
import { sweepSmallSlices, withSmallSlices, type SmallSliceStore } from '../extent/small.ts'
import { sweepExtents } from '../extent/sweep.ts'
import { openFormat } from '../kv/format.ts'
import { encodeKey } from '../kv/key.ts'
import type { Kv } from '../kv/kv.ts'
import { openLmdbKv } from '../kv/lmdb.ts'
import { openMemoryKv } from '../kv/memory.ts'
import { takeOwnership, type Owner, type Taker } from '../kv/owner.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'
import { sweepBlobs } from '../storage/blob/sweep.ts'
import { sweepFiles } from '../storage/file/sweep.ts'
import { sweepHeldNames } from '../storage/held-name.ts'
import { openIds, type Ids } from '../storage/id.ts'
import { MIGRATIONS } from '../storage/migrations.ts'
import { sweepCopiedMaps, withMapCopies } from '../storage/map-copy.ts'
import { createMoments, type Moment } from '../storage/moment.ts'
import { sweepQueues } from '../storage/queue/sweep.ts'
import { sweepTables } from '../storage/table/sweep.ts'

export type Clock = () => number

export type Store = {
  readonly kv: Kv
  readonly extents: SweptExtentStore
  readonly hashThreads: HashThreads
  readonly newId: Ids
  /** What a worker process needs to share this store; in memory there is nothing to share. */
  readonly ownerToken: string | undefined
  moment(): Moment
  sizeBytes(): number
  /** Gives back what deletes have left; called now and then, and once at the end. */
  sweep(options?: { readonly graceMs?: number }): Promise<void>
  close(): Promise<void>
}

export type StorePlace = Taker | { readonly memoryLimitBytes?: number }

const HASH_THREADS_MAX = 4
const MOMENT_FLOOR_KEY = encodeKey('moment-floor')

export async function openStore(place: StorePlace, clock: Clock): Promise<Store> {
  if (!('folder' in place)) {
    const kv = openMemoryKv()
    const limit = place.memoryLimitBytes === undefined ? {} : { limitBytes: place.memoryLimitBytes }
    const extents = openMemoryExtents({ kv, clock: Date.now, ...limit })
    return storeOf(kv, withSmallSlices(extents, kv), clock, undefined)
  }
  const kv = openLmdbKv(join(place.folder, 'store'))
  try {
    const owner = await takeOwnership(kv, place)
    if (owner.role === 'alone') kv.own()
    try {
      await openFormat(kv, MIGRATIONS)
      const folder = join(place.folder, 'extents')
      const extents = await openLocalExtents({
        folder,
        kv,
        clock: Date.now,
        writerId: randomUUID(),
        // The owner has sealed what a crash left open; what is open now is its own and its workers'.
        ...(owner.role === 'worker' && { liveWriters: 'all' }),
      })
      // LMDB syncs its file, not the file's name: without that, a power cut could take a new store whole.
      await nodeDisk.syncFolder(join(place.folder, 'store'))
      await nodeDisk.syncFolder(place.folder)
      return await storeOf(kv, withSmallSlices(extents, kv), clock, owner)
    } catch (error) {
      await owner.release()
      throw error
    }
  } catch (error) {
    await kv.close()
    throw error
  }
}

async function storeOf(
  engine: Kv,
  extents: SmallSliceStore,
  clock: Clock,
  owner: Owner | undefined,
): Promise<Store> {
  const kv = withMapCopies(engine, Date.now)
  const newId = await openIds(kv)
  const hashThreads = new HashThreads(Math.min(availableParallelism() - 1, HASH_THREADS_MAX))
  const floor = await readFloor(kv)
  const moment = createMoments(clock, floor)
  let saved = floor
  const saveFloor = async (): Promise<void> => {
    // Taking a moment is how the last one is known; one that nobody uses is no loss.
    const { stamp } = moment()
    if (stamp <= saved + 1) return
    saved = stamp
    await kv.write(function* (tx) {
      tx.put(MOMENT_FLOOR_KEY, encodeRecord({ stamp }))
    })
  }
  return {
    kv,
    extents,
    hashThreads,
    newId,
    ownerToken: owner?.token,
    moment,
    sizeBytes: () => kv.sizeBytes() + extents.sizeBytes(),
    async sweep(options = {}) {
      // Before the blobs: they share the sweep of maps.
      await sweepCopiedMaps(kv, Date.now())
      await sweepFiles(kv, moment().nowMs)
      await sweepBlobs(kv, moment().nowMs)
      await sweepQueues(kv, moment().nowMs)
      await sweepTables(kv)
      await sweepHeldNames(kv, moment().nowMs)
      const isPinned = (id: number) => extents.isSmallPinned(id)
      await sweepSmallSlices(kv, { nowMs: Date.now(), isPinned, ...options })
      await sweepExtents(kv, extents, { nowMs: Date.now(), ...options })
      await saveFloor()
    },
    async close() {
      await extents.close()
      await hashThreads.close()
      await saveFloor()
      await owner?.release()
      await kv.close()
    },
  }
}

async function readFloor(kv: Kv): Promise<number> {
  const value = await kv.read((tx) => tx.get(MOMENT_FLOOR_KEY))
  return value === undefined ? 0 : decodeRecord<{ stamp: number }>(value).stamp
}
