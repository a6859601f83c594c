// List Blobs: a walk over the names of a container whose cost depends on what it returns: all names that a delimiter folds
// into one prefix cost one seek.
import { lastKeyString } from '../../../kv/key.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { BATCH_MAX, SKIP_MAX } from '../../shared/cursor.ts'
import { decodeBlob, isBlobExpired } from '../blob.ts'
import { requireContainer, type ContainerAddress } from '../container/container.ts'
import { blobKeyPrefix } from '../keys.ts'
import { treeOf } from '../path/locate.ts'
import { getProtection, visibleAccess, type Protection } from '../protection.ts'
import { listTree } from './list-tree.ts'
import { listMerged } from './list-merge.ts'
import {
  BLOBS,
  foldedPrefix,
  listFold,
  listRange,
  startKey,
  type BlobItem,
  type BlobPage,
  type ListBlobs,
  type ListPosition,
} from './list-page.ts'

/** A page of List Blobs. */
export function* listBlobPage(
  tx: ReadTx,
  address: ContainerAddress,
  list: ListBlobs,
  nowMs: number,
): Step<BlobPage> {
  const container = yield* requireContainer(tx, address)
  const protection = yield* getProtection(tx, address.account)
  const tree = treeOf(container)
  const { items, next } =
    tree === undefined
      ? yield* listBlobs(tx, container.id, list, nowMs)
      : yield* listTree(tx, tree, list, nowMs)
  return { items: items.map((item) => withVisibleAccess(item, protection)), next }
}

function withVisibleAccess(item: BlobItem, protection: Protection): BlobItem {
  if (!('blob' in item) || item.blob.accessedMs === undefined) return item
  return { ...item, blob: visibleAccess(item.blob, protection) }
}

export function* listBlobs(
  tx: ReadTx,
  containerId: number,
  list: ListBlobs,
  nowMs: number,
): Step<BlobPage> {
  const { include } = list
  if (include !== undefined && Object.values(include).includes(true)) {
    return yield* listMerged(tx, containerId, { ...list, include }, nowMs)
  }
  return yield* listCurrent(tx, containerId, list, nowMs)
}

/** Lists current blobs only, as most lists do: one range of keys. */
function* listCurrent(
  tx: ReadTx,
  containerId: number,
  list: ListBlobs,
  nowMs: number,
): Step<BlobPage> {
  const nameAt = blobKeyPrefix(containerId, '').length - 1
  const fold = listFold(BLOBS, containerId, list)
  const items: BlobItem[] = []
  let { from, to } = listRange(BLOBS, containerId, list)
  let skipped = 0
  while (Buffer.compare(from, to) < 0) {
    const ahead = list.countMax + 1 - items.length
    const countMax = Math.min(BATCH_MAX, ahead)
    const found = yield* tx.scanFields({ from, to, countMax, ahead, ...fold })
    let next: ListPosition | undefined
    let isAtEnd = found.length < countMax
    for (const { key, value } of found) {
      if (items.length === list.countMax) return { items, next: positionAfter(items.at(-1)) }
      const name = lastKeyString(key, nameAt)
      const blob = decodeBlob(value)
      const prefix = foldedPrefix(name, list)
      next = { afterName: name }
      if (isBlobExpired(blob, nowMs)) {
        skipped += 1
        if (prefix === undefined) continue
        // Another blob with the same prefix may not have expired.
        isAtEnd = false
        break
      } else if (prefix === undefined) {
        items.push({ name, blob })
      } else {
        items.push({ prefix })
        next = { afterPrefix: prefix }
      }
    }
    if (next === undefined || isAtEnd) break
    if (skipped > SKIP_MAX) return { items, next }
    from = startKey(BLOBS, containerId, next)
    yield* giveWay()
  }
  return { items, next: undefined }
}

function positionAfter(item: BlobItem | undefined): ListPosition | undefined {
  if (item === undefined) return undefined
  return 'prefix' in item ? { afterPrefix: item.prefix } : { afterName: item.name }
}
