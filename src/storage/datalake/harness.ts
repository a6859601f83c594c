// Fixture for tests of paths below HTTP: a store in memory, two hierarchical filesystems of one account, a clock that the test
// moves, and the operations as the front end calls them.
import assert from 'node:assert/strict'
import { withMapCopies } from '../../extent/content/map-copy.ts'
import type { Piece } from '../../extent/content/slice.ts'
import { wholeSlice } from '../../extent/content/slice-list.ts'
import {
  SMALL_BYTES_MAX,
  smallPiece,
  sweepSmallSlices,
  withSmallSlices,
} from '../../extent/content/small.ts'
import { chunksOf, readAll } from '../../extent/harness.ts'
import { openMemoryExtents } from '../../extent/memory.ts'
import { checkStore } from '../../extent/sweep/fsck.ts'
import { sweepExtents } from '../../extent/sweep/sweep.ts'
import { recordCounts } from '../../kv/counting.ts'
import type { Step, Tx } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { openIds } from '../../node/id.ts'
import { createMoments, type Moment } from '../../node/moment.ts'
import { findBlob } from '../blob/blob.ts'
import { createContainer } from '../blob/container/container.ts'
import { readContent } from '../blob/content/content.ts'
import type { BlobGuard } from '../blob/guard.ts'
import { putBlob } from '../blob/put.ts'
import type { Blob } from '../blob/record.ts'
import { sweepBlobs } from '../blob/sweep.ts'
import { NO_CONDITIONS } from '../shared/condition.ts'
import type { ServicePropertiesUpdate } from '../shared/service/service-properties.ts'
import { changeServiceProperties } from '../shared/service/service.ts'
import { appendData } from './append-data.ts'
import type { Actor } from '../blob/access/actor.ts'
import { createPath, type CreatePath } from './create-path.ts'
import { deletePath, type DeletePath, type PathDeletion } from './delete-path.ts'
import { appendAndFlush, flushData, type FlushData } from './flush-data.ts'
import { listPaths, type ListPaths, type PathPage } from './list-paths.ts'
import type { PathAddress } from './path-address.ts'
import { renamePath, type RenamePath } from './rename-path.ts'
import { undeletePath } from './undelete-path.ts'

export const ACCOUNT = 'lake'
export const GUARD: BlobGuard = { conditions: NO_CONDITIONS, readRule: 'any' }
export const ONCE: BlobGuard = { ...GUARD, conditions: { ifNoneMatch: '*' } }

export type LakeWorld = Awaited<ReturnType<typeof lakeWorld>>

type At = { readonly container?: string; readonly actor?: Actor }

export async function lakeWorld(options: { readonly waits?: boolean } = {}) {
  const kv = withMapCopies(openMemoryKv(options), () => 0)
  const now = { ms: Date.UTC(2026, 0) }
  const extents = withSmallSlices(openMemoryExtents({ kv, clock: () => now.ms }), kv)
  const newId = await openIds(kv)
  const moment = createMoments(() => now.ms, 0)

  function at(path: string, { container = 'fs', actor }: At = {}): PathAddress {
    return { account: ACCOUNT, container, path, ...(actor && { actor }) }
  }

  /** A write with its own moment, as of one request. */
  function write<T>(body: (tx: Tx, taken: Moment) => Step<T>): Promise<T> {
    const taken = moment()
    return kv.write((tx) => body(tx, taken))
  }

  /** As `upload` does it: few bytes are written by the transaction. */
  async function stage(bytes: Uint8Array) {
    const piece: Piece =
      bytes.length <= SMALL_BYTES_MAX
        ? smallPiece(newId(), bytes)
        : wholeSlice(await extents.write(chunksOf(bytes), bytes.length, []))
    return { lengthBytes: bytes.length, content: { id: newId(), pieces: [piece] } }
  }

  for (const container of ['fs', 'other']) {
    const created = { id: newId(), metadata: [], isHierarchical: true }
    await write((tx, taken) => createContainer(tx, { account: ACCOUNT, container }, created, taken))
  }

  return {
    kv,
    now,
    newId,
    moment,
    at,
    write,
    stage,
    setProperties: (update: ServicePropertiesUpdate) =>
      kv.write((tx) => changeServiceProperties(tx, { account: ACCOUNT, service: 'blob' }, update)),
    create: (path: string, request: Partial<CreatePath> = {}, place: At = {}): Promise<Blob> => {
      const create = { ...NEW_FILE, newId: newId(), ...request }
      return write((tx, taken) => createPath(tx, at(path, place), create, taken))
    },
    mkdir: (path: string, request: Partial<CreatePath> = {}, place: At = {}): Promise<Blob> => {
      const create = { ...NEW_FILE, newId: newId(), ...request, kind: 'directory' as const }
      return write((tx, taken) => createPath(tx, at(path, place), create, taken))
    },
    append: async (path: string, position: number, text: string) => {
      const bytes = await stage(Buffer.from(text))
      return write((tx, taken) =>
        appendData(tx, at(path), { position, guard: GUARD }, bytes, taken),
      )
    },
    appendAndFlush: async (path: string, position: number, text: string, place: At = {}) => {
      const bytes = await stage(Buffer.from(text))
      const append = { position, guard: GUARD }
      const flush = { newId: newId() }
      return write((tx, taken) => appendAndFlush(tx, at(path, place), append, bytes, flush, taken))
    },
    flush: (path: string, position: number, request: Partial<FlushData> = {}) => {
      const flush = { position, retainsUncommittedData: false, guard: GUARD, newId: newId() }
      return write((tx, taken) => flushData(tx, at(path), { ...flush, ...request }, taken))
    },
    putBlob: (path: string, text: string, metadata: Blob['metadata'] = []): Promise<Blob> => {
      const put = { guard: GUARD, createOnly: false, headers: {}, metadata }
      const address = { account: ACCOUNT, container: 'fs', blob: path }
      return write((tx, taken) => putBlob(tx, address, put, { bytes: Buffer.from(text) }, taken))
    },
    rename: (
      from: string,
      to: string,
      request: Partial<Omit<RenamePath, 'source'>> & { leaseId?: string } = {},
      [source, destination]: readonly [At, At] = [{}, {}],
    ): Promise<Blob> => {
      const { leaseId, ...rest } = request
      const whole: RenamePath = {
        mode: 'legacy',
        guard: GUARD,
        createOnly: false,
        headers: {},
        ...rest,
        source: {
          address: at(from, source),
          conditions: NO_CONDITIONS,
          ...(leaseId !== undefined && { leaseId }),
        },
      }
      return write((tx, taken) => renamePath(tx, at(to, destination), whole, taken))
    },
    delete: (
      path: string,
      request: Partial<DeletePath> = {},
      place: At = {},
    ): Promise<PathDeletion> => {
      const whole = { guard: GUARD, isRecursive: true, ...request }
      return write((tx, taken) => deletePath(tx, at(path, place), whole, taken))
    },
    undelete: (path: string, deletionId: number) =>
      write((tx, taken) => undeletePath(tx, at(path), { source: { path, deletionId } }, taken)),
    list: (path = '', list: Partial<ListPaths> = {}, place: At = {}): Promise<PathPage> => {
      const whole = { isRecursive: true, countMax: 5_000, start: undefined, ...list }
      return kv.read((tx) => listPaths(tx, at(path, place), whole, now.ms))
    },
    find: async (path: string, { container = 'fs' }: At = {}): Promise<Blob | undefined> => {
      const address = { account: ACCOUNT, container, blob: path }
      return (await kv.read((tx) => findBlob(tx, address, now.ms))).stored?.blob
    },
    read: async (path: string, { container = 'fs' }: At = {}): Promise<string | undefined> => {
      const address = { account: ACCOUNT, container, blob: path }
      const content = await kv.read(function* (tx) {
        const { stored } = yield* findBlob(tx, address, now.ms)
        if (stored === undefined) return undefined
        return yield* readContent(tx, stored, { from: 0, to: stored.blob.lengthBytes })
      })
      if (content === undefined) return undefined
      if ('bytes' in content) return Buffer.from(content.bytes).toString()
      return (await readAll(extents, content.pieces)).toString()
    },
    sweep: async () => {
      await sweepBlobs(kv, now.ms)
      const sweep = { clock: () => now.ms, graceMs: 0, sealBytesMin: 1 }
      for (let pass = 0; pass < 4; pass += 1) {
        await sweepExtents(kv, extents, sweep)
        await sweepSmallSlices(kv, { ...sweep, isPinned: (id) => extents.isSmallPinned(id) })
      }
    },
    checkSound: async () => {
      assert.deepEqual((await checkStore(kv, extents)).problems, [])
    },
    counts: () => recordCounts(kv),
  }
}

const NEW_FILE = {
  kind: 'file' as const,
  guard: GUARD,
  createOnly: false,
  headers: {},
  metadata: [],
}

/** The paths of the whole filesystem, as a list shows them. */
export async function pathsOf(world: LakeWorld, container = 'fs'): Promise<readonly string[]> {
  const { items } = await world.list('', {}, { container })
  return items.map(({ path, blob }) => (blob.path?.isDirectory === true ? `${path}/` : path))
}
