// Delete Path. With `recursive`, whatever is below a directory disappears with one entry. Users need w and x on each directory
// below, so theirs is a walk, which takes several requests for a long one.
import { prefixRange, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { giveWay } from '../../kv/step.ts'
import type { Moment } from '../../node/moment.ts'
import { findBlob, requireBlob, type ExistingTarget } from '../blob/blob.ts'
import { checkBlobWrite, checkMutable, type BlobGuard } from '../blob/guard.ts'
import { blobKeyPrefix } from '../blob/keys.ts'
import { hasFolderMark } from '../blob/path/link.ts'
import { getDirectoryAccess, requireAllowed } from '../blob/path/access.ts'
import type { Located } from '../blob/path/locate.ts'
import { checkRemovable, unlinkPath } from '../blob/path/unlink.ts'
import { TreeWalker } from '../blob/path/walk-tree.ts'
import { deleteBlob, type Deletion } from '../blob/past/delete.ts'
import { getProtection } from '../blob/protection.ts'
import { StorageError } from '../shared/error.ts'
import { EXECUTE, READ, WRITE } from '../blob/access/acl.ts'
import { isAllowed, SUPERUSER_ACTOR, type Actor } from '../blob/access/actor.ts'
import { namesOfPath } from '../blob/path/path-name.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type DeletePath = {
  readonly guard: BlobGuard
  readonly isRecursive: boolean
  /** Where the check of an earlier request has ended. */
  readonly continuation?: string
  /** Paths that one request checks. */
  readonly countMax?: number
}

export type PathDeletion = Deletion & {
  /** More requests are needed; nothing is deleted yet. */
  readonly continuation?: string
}

export function* deletePath(
  tx: Tx,
  pathAddress: PathAddress,
  request: DeletePath,
  moment: Moment,
): Step<PathDeletion> {
  const address = blobOfPath(pathAddress, 'delete')
  const { guard } = request
  const target = requireBlob(yield* findBlob(tx, address, moment.nowMs))
  const { located, stored } = target
  if (located === undefined) {
    if (hasFolderMark(stored.blob.metadata)) yield* checkFlatFolder(tx, target, request)
    return yield* deleteBlob(tx, address, { guard, snapshots: 'include' }, moment)
  }
  checkBlobWrite(stored.blob, guard, moment.nowMs, 'update')
  checkMutable(stored.blob, moment.nowMs)
  const removed = { ...target, located }
  if (!request.isRecursive) yield* requireEmpty(tx, removed, moment.nowMs)
  else {
    const continuation = yield* checkBelow(tx, pathAddress.actor, removed, request)
    if (continuation !== undefined) return { isPermanent: false, continuation }
  }
  const { account } = pathAddress
  const { blobRetentionDays: retentionDays } = yield* getProtection(tx, account)
  const deletionId = yield* unlinkPath(tx, removed, { account, retentionDays }, moment)
  return deletionId === undefined ? { isPermanent: true } : { isPermanent: false, deletionId }
}

/** In flat containers, directories are only marks: there is no step that removes what is below one. */
function* checkFlatFolder(
  tx: ReadTx,
  { containerId, name }: ExistingTarget,
  { isRecursive }: DeletePath,
): Step<void> {
  const below = prefixRange(blobKeyPrefix(containerId, `${name}/`))
  if ((yield* tx.scanKeys({ ...below, countMax: 1 })).length === 0) return
  throw new StorageError(isRecursive ? 'HierarchicalNamespaceNotEnabled' : 'DirectoryNotEmpty')
}

type Removed = ExistingTarget & { readonly located: Located }

function* requireEmpty(tx: ReadTx, removed: Removed, nowMs: number): Step<void> {
  try {
    yield* checkRemovable(tx, removed, nowMs)
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'DirectoryIsNotEmpty') throw error
    throw new StorageError('DirectoryNotEmpty')
  }
}

const CHECKED_COUNT = 5_000
const GIVE_WAY_COUNT = 64

/** Returns where the next request goes on; undefined if all is checked. */
function* checkBelow(
  tx: ReadTx,
  actor: Actor = SUPERUSER_ACTOR,
  { located, stored: { blob } }: Removed,
  { continuation, countMax = CHECKED_COUNT }: DeletePath,
): Step<string | undefined> {
  if (actor.kind === 'superuser' || blob.path?.isDirectory !== true) return undefined
  const { spaceId } = located
  const directoryId = blob.path.id
  const walk = { spaceId, directoryId, path: '', namePrefix: '', isRecursive: true }
  const walker = new TreeWalker(tx, { ...walk, expectedCount: countMax })
  yield* walker.open(
    continuation === undefined ? undefined : { names: namesOfPath(continuation), mode: 'follows' },
  )
  if (continuation === undefined) yield* requireChange(tx, actor, spaceId, directoryId)
  for (let count = 1; ; count += 1) {
    const walked = yield* walker.peek()
    if (walked === undefined) return undefined
    walker.advance()
    const { id, isDirectory } = walked.entry
    if (isDirectory === true) yield* requireChange(tx, actor, spaceId, id)
    if (count === countMax) return walked.path
    if (count % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
}

function* requireChange(tx: ReadTx, actor: Actor, spaceId: number, id: string): Step<void> {
  const access = yield* getDirectoryAccess(tx, spaceId, id)
  requireAllowed(isAllowed(actor, access, READ | WRITE | EXECUTE))
}
