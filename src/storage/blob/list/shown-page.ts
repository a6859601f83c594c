// List Blobs: a page of a container, with what a client may see of each blob.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { requireContainer, type ContainerAddress } from '../container/container.ts'
import { listBlobs } from './list.ts'
import type { BlobItem, BlobPage, ListBlobs } from './list-page.ts'
import { getProtection, shownAccess, type Protection } from '../protection.ts'

export function* shownPage(
  tx: ReadTx,
  address: ContainerAddress,
  list: ListBlobs,
  nowMs: number,
): Step<BlobPage> {
  const container = yield* requireContainer(tx, address)
  const protection = yield* getProtection(tx, address.account)
  const { items, next } = yield* listBlobs(tx, container.id, list, nowMs)
  return { items: items.map((item) => withShownAccess(item, protection)), next }
}

/** Last access times are shown while they are tracked. */
function withShownAccess(item: BlobItem, protection: Protection): BlobItem {
  if (!('blob' in item) || item.blob.accessedMs === undefined) return item
  return { ...item, blob: shownAccess(item.blob, protection) }
}
