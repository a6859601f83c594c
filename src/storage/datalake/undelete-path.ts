// Undelete: a soft-deleted file or directory gets its entry back, and with it everything below.
import type { Step, Tx } from '../../kv/kv.ts'
import type { Moment } from '../../node/moment.ts'
import { findBlob } from '../blob/blob.ts'
import { namesOfPath } from '../blob/path/path-name.ts'
import { restorePath } from '../blob/path/restore.ts'
import type { Blob } from '../blob/record.ts'
import { StorageError } from '../shared/error.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type UndeletePath = {
  /** The path that it had, and the id of the deletion. */
  readonly source: { readonly path: string; readonly deletionId: number }
}

/** The path of the address is the one that it gets. */
export function* undeletePath(
  tx: Tx,
  address: PathAddress,
  { source }: UndeletePath,
  moment: Moment,
): Step<Blob> {
  const found = yield* findBlob(tx, blobOfPath(address, 'write'), moment.nowMs)
  const { container, located } = found
  if (located === undefined) throw new StorageError('HierarchicalNamespaceNotEnabled')
  const order = namesOfPath(source.path).join('\0')
  const place = { containerId: container.id, order, stamp: source.deletionId }
  const { account, actor } = address
  return yield* restorePath(
    tx,
    account,
    located,
    place,
    actor === undefined ? {} : { actor },
    moment,
  )
}
