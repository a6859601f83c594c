// Where a blob that is created or replaced is stored. A new path of a hierarchical container gets its id here.
import type { Key, Step, Tx } from '../../../kv/kv.ts'
import type { Moment } from '../../../node/moment.ts'
import { StorageError } from '../../shared/error.ts'
import type { Lease } from '../../shared/lease.ts'
import { indexLease } from '../../shared/leased.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { BlobAddress, Target } from '../blob.ts'
import { moveContent, type BlobContent } from '../content/content.ts'
import { blobKey } from '../keys.ts'
import { blobPlaceOf, type BlobPlace } from '../past/past.ts'
import type { Creation } from './access.ts'
import { hasFolderMark, linkPath } from './link.ts'
import { checkDepth } from './path-name.ts'
import type { PathState } from './path-state.ts'

export type Home = {
  readonly key: Key
  readonly place: BlobPlace
  readonly path?: PathState | undefined
}

type Created = {
  readonly content: BlobContent
  readonly metadata: Metadata
  readonly creation?: Creation | undefined
}

type Replaced = Target & { readonly lease: Lease | undefined }

export function* homeOf(
  tx: Tx,
  address: BlobAddress,
  target: Replaced,
  { content, metadata, creation = {} }: Created,
  moment: Moment,
): Step<Home> {
  const { key, located, containerId, lease } = target
  const place = blobPlaceOf(address, target)
  if (located === undefined) return { key, place }
  // An empty blob that is marked as a folder is a directory.
  const isDirectory = hasFolderMark(metadata) && content.lengthBytes === 0
  const current = target.stored?.blob ?? target.expired
  if (current !== undefined) {
    if ((current.path?.isDirectory === true) !== isDirectory) {
      throw new StorageError('ResourceTypeMismatch')
    }
    return { key, place, path: current.path }
  }
  checkDepth(located.names)
  const actor = address.access?.actor
  const created = { isDirectory, ...(actor && { actor }), ...creation }
  const path = yield* linkPath(tx, located, created, moment)
  const ownKey = blobKey(containerId, path.id)
  yield* moveContent(tx, content, ownKey)
  if (lease !== undefined) {
    indexLease(tx, key, undefined)
    indexLease(tx, ownKey, lease)
  }
  return { key: ownKey, place: { ...place, blob: path.id }, path }
}
