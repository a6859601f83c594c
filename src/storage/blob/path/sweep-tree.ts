// Removes what is below directories that no path leads to any more, in bounded transactions. Clients have not seen it since
// the entry of the topmost directory was removed.
import { decodeKey } from '../../../kv/key.ts'
import { prefixRange, type Kv, type Step, type Tx } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import type { ContainerName } from '../container/container.ts'
import { discardStaging } from '../content/staging.ts'
import {
  blobKey,
  containerNameKey,
  DELETED_TREES,
  deletedPathKey,
  deletedPathKeyPrefix,
  deletedTreeKey,
  dueKey,
  pathEntriesRange,
  stagingKeyPrefix,
} from '../keys.ts'
import type { Blob } from '../record.ts'
import {
  containerIdOfRoot,
  uncommittedName,
  type DeletedPath,
  type PathEntry,
} from './path-state.ts'
import { dropUnlinked } from './unlink.ts'

/** Files can have snapshots, which are removed together with them. */
const PATHS_PER_STEP = 100

export async function sweepTrees(kv: Kv): Promise<number> {
  let count = 0
  for (;;) {
    const [first] = await kv.read((tx) => tx.scanKeys({ ...DELETED_TREES, countMax: 1 }))
    if (first === undefined) return count
    const [, spaceId, directoryId] = decodeKey(first)
    count += await kv.write((tx) => sweepSome(tx, Number(spaceId), String(directoryId)))
  }
}

/** The last step, which finds nothing more, deletes the mark. */
function* sweepSome(tx: Tx, spaceId: number, directoryId: string): Step<number> {
  const account = yield* accountOfSpace(tx, spaceId)
  const range = { ...pathEntriesRange(spaceId, directoryId), countMax: PATHS_PER_STEP }
  const entries = yield* tx.scanFields(range)
  for (const { key, value } of entries) {
    yield* dropPath(tx, { account, spaceId }, decodeRecord<PathEntry>(value))
    tx.delete(key)
  }
  if (entries.length > 0) return entries.length
  const containerId = containerIdOfRoot(directoryId)
  if (containerId !== undefined) {
    const count = yield* sweepContainer(tx, { account, spaceId }, containerId, directoryId)
    if (count > 0) return count
  }
  tx.delete(deletedTreeKey(spaceId, directoryId))
  return 0
}

type Space = { readonly account: string; readonly spaceId: number }

export function* dropPath(tx: Tx, { account, spaceId }: Space, { id }: PathEntry): Step<void> {
  const blob = yield* tx.getFields<Blob>(blobKey(spaceId, id))
  if (blob === undefined) return
  yield* dropUnlinked(tx, { account, containerId: spaceId, blob: id }, blob)
}

/** What a container has besides its paths. Returns 0 when all is gone. */
function* sweepContainer(tx: Tx, space: Space, containerId: number, rootId: string): Step<number> {
  const range = prefixRange(deletedPathKeyPrefix(containerId, ''))
  const deleted = yield* tx.scanFields({ ...range, countMax: PATHS_PER_STEP })
  for (const { key, value } of deleted) {
    const [, , order, stamp] = decodeKey(key)
    const record = decodeRecord<DeletedPath>(value)
    forgetDeletedPath(tx, { containerId, order: String(order), stamp: Number(stamp) }, record)
    yield* dropPath(tx, space, record)
  }
  if (deleted.length > 0) return deleted.length
  const staged = prefixRange(stagingKeyPrefix(space.spaceId, uncommittedName(rootId, [])))
  const [staging] = yield* tx.scanKeys({ ...staged, countMax: 1 })
  if (staging !== undefined) {
    yield* discardStaging(tx, space.spaceId, String(decodeKey(staging)[2]))
    return 1
  }
  tx.delete(blobKey(space.spaceId, rootId))
  // The name of the space's first container says which account the space belongs to.
  if (containerId !== space.spaceId) tx.delete(containerNameKey(containerId))
  return 0
}

/** Where a soft-deleted path was, and its deletion id. */
export type DeletedPlace = {
  readonly containerId: number
  /** Of the path (treeOrder). */
  readonly order: string
  readonly stamp: number
}

export function forgetDeletedPath(
  tx: Tx,
  { containerId, order, stamp }: DeletedPlace,
  { untilMs }: DeletedPath,
): void {
  tx.delete(deletedPathKey(containerId, order, stamp))
  tx.delete(dueKey(untilMs, 'path', containerId, order, stamp))
}

/** Removes a soft-deleted path if its retention has ended. */
export function* dropOverduePath(tx: Tx, place: DeletedPlace, nowMs: number): Step<void> {
  const { containerId, order, stamp } = place
  const record = yield* tx.getFields<DeletedPath>(deletedPathKey(containerId, order, stamp))
  if (record === undefined || record.untilMs > nowMs) return
  forgetDeletedPath(tx, place, record)
  const { spaceId } = record
  const account = yield* accountOfSpace(tx, spaceId)
  yield* dropPath(tx, { account, spaceId }, record)
}

export function* accountOfSpace(tx: Tx, spaceId: number): Step<string> {
  return (yield* tx.getFields<ContainerName>(containerNameKey(spaceId)))?.account ?? ''
}
