// Opens a store, in a folder or in memory: the kv, the extents, ids, moments and the sweep. The sweep of extents uses
// the machine's clock: a clock that a caller controls must neither keep garbage nor remove bytes that are being read.
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { nodeDisk } from '../../extent/file/disk.ts'
import type { SweptExtentStore } from '../../extent/extent.ts'
import { HashThreads } from '../../extent/hash/hash-threads.ts'
import { openLocalExtents } from '../../extent/file/local.ts'
import { openMemoryExtents } from '../../extent/memory.ts'
import {
  sweepSmallSlices,
  withSmallSlices,
  type SmallSliceStore,
} from '../../extent/content/small.ts'
import { sweepExtents } from '../../extent/sweep/sweep.ts'
import { soleWriter } from '../../extent/writers.ts'
import type { ForkedStore } from '../../control/fork.ts'
import { openFormat } from '../../node/format.ts'
import type { EventKv } from '../../kv/kv.ts'
import { Gate, gated } from '../../kv/gate.ts'
import type { Snapshot } from '../../kv/engine/engine.ts'
import { openLmdbEngine } from '../../kv/engine/lmdb.ts'
import { openKv } from '../../kv/runner/runner.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { takeOwnership, type Taker } from '../../node/owner.ts'
import { sweepBlobs } from '../../storage/blob/sweep.ts'
import type { FileEvent } from '../../storage/file/open/open.ts'
import { sweepFiles } from '../../storage/file/sweep.ts'
import { sweepHeldNames } from '../../storage/shared/held-name.ts'
import { openIds, type Ids } from '../../node/id.ts'
import { retractServer } from './running-server.ts'
import { MIGRATIONS } from '../../storage/migrations.ts'
import { sweepCopiedMaps, withMapCopies } from '../../extent/content/map-copy.ts'
import { openMoments, type Moment, type StoredMoments } from '../../node/moment.ts'
import { finishRestore } from '../../storage/saved/restore-state.ts'
import { sweepSavedStates } from '../../storage/saved/saved-state.ts'
import { sweepQueues } from '../../storage/queue/sweep.ts'
import { sweepTables } from '../../storage/table/sweep.ts'

export type Clock = () => number

export type Store = {
  readonly kv: EventKv<FileEvent>
  /** Before `kv`, for work that needs the whole store for itself: it uses `kvBehindGate`. */
  readonly gate: Gate
  readonly kvBehindGate: EventKv<FileEvent>
  readonly extents: SweptExtentStore
  readonly hashThreads: HashThreads
  readonly newId: Ids
  moment(): Moment
  /** One state of all records; undefined if the store is not in a folder. */
  readonly snapshot?: (() => Promise<Snapshot>) | undefined
  sizeBytes(): number
  /** Frees the space of deleted objects. Called periodically. */
  sweep(options?: { readonly graceMs?: number }): Promise<void>
  close(): Promise<void>
}

export type StorePlace = Taker | InMemory

export type InMemory = {
  readonly memoryLimitBytes?: number
  /** A fork begins with these records; by default, a store is empty. */
  readonly forked?: ForkedStore
}

const HASH_THREADS_MAX = 4

export async function openStore(place: StorePlace, clock: Clock): Promise<Store> {
  if (!('folder' in place)) return openInMemory(place, clock)
  const engine = openLmdbEngine(join(place.folder, 'store'))
  try {
    const owner = await takeOwnership(engine, place)
    // A server that was killed has left its own.
    retractServer(place.folder)
    const kv = openKv<FileEvent>(engine)
    try {
      await openFormat(kv, MIGRATIONS)
      const folder = join(place.folder, 'extents')
      const writers = soleWriter(randomUUID())
      const extents = await openLocalExtents({ folder, kv, clock: Date.now, writers })
      // LMDB syncs its file but not the folder entry, so a power cut could lose a new store completely.
      await nodeDisk.syncFolder(join(place.folder, 'store'))
      await nodeDisk.syncFolder(place.folder)
      const { stamped, ...moments } = await openMoments(kv, clock)
      return await storeOf({
        kv: stamped(kv),
        extents: withSmallSlices(extents, kv),
        moments,
        snapshot: async () => engine.snapshot(),
        close: async () => {
          await owner.release()
          await kv.close()
        },
      })
    } catch (error) {
      await owner.release()
      throw error
    }
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function openInMemory({ memoryLimitBytes, forked }: InMemory, clock: Clock): Promise<Store> {
  const kv = forked?.kv ?? openMemoryKv<FileEvent>()
  const extents = openMemoryExtents({
    kv,
    clock: Date.now,
    ...(memoryLimitBytes !== undefined && { limitBytes: memoryLimitBytes }),
    ...(forked !== undefined && { shared: forked.shared }),
  })
  const { stamped, ...moments } = await openMoments(kv, clock)
  return storeOf({
    kv: stamped(kv),
    extents: withSmallSlices(extents, kv),
    moments,
    close: () => kv.close(),
  })
}

export type StoreParts = {
  readonly kv: EventKv<FileEvent>
  readonly extents: SmallSliceStore
  readonly moments: Pick<StoredMoments, 'moment' | 'saveFloor'>
  /** The clock of bytes that are no longer used, on which all nodes agree; by default, the machine's. */
  readonly sweepClock?: Clock
  /** The store for a sweep; undefined if another node sweeps. By default, this server does. */
  readonly sweepKv?: (kv: EventKv<FileEvent>) => EventKv<FileEvent> | undefined
  readonly oldestReadMs?: () => Promise<number>
  readonly snapshot?: Store['snapshot']
  /** Closes the kv. */
  close(): Promise<void>
}

export async function storeOf(parts: StoreParts): Promise<Store> {
  const { extents, moments, sweepClock = Date.now, sweepKv = (kv) => kv, oldestReadMs } = parts
  const { moment } = moments
  // A crash may have interrupted it.
  await finishRestore(parts.kv)
  const gate = new Gate()
  const kv = withMapCopies(gated(parts.kv, gate), sweepClock)
  const newId = await openIds(parts.kv)
  const hashThreads = new HashThreads(Math.min(availableParallelism() - 1, HASH_THREADS_MAX))
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await extents.close()
    await hashThreads.close()
    await moments.saveFloor()
    await parts.close()
  }
  return {
    kv,
    gate,
    kvBehindGate: parts.kv,
    extents,
    hashThreads,
    newId,
    moment,
    snapshot: parts.snapshot,
    sizeBytes: () => kv.sizeBytes() + extents.sizeBytes(),
    async sweep(options = {}) {
      const swept = sweepKv(kv)
      if (swept === undefined) return
      await sweepSavedStates(swept)
      // Before the blobs, which share the sweep of maps.
      await sweepCopiedMaps(swept, sweepClock())
      await sweepFiles(swept, moment().nowMs)
      await sweepBlobs(swept, moment().nowMs)
      await sweepQueues(swept, moment().nowMs)
      await sweepTables(swept)
      await sweepHeldNames(swept, moment().nowMs)
      const bytes = {
        clock: sweepClock,
        ...(oldestReadMs !== undefined && { oldestReadMs }),
        ...options,
      }
      const isPinned = (id: number) => extents.isSmallPinned(id)
      await sweepSmallSlices(swept, { ...bytes, isPinned })
      await sweepExtents(swept, extents, bytes)
    },
    close: () => (closing ??= close()),
  }
}
