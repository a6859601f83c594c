// List Blobs: a walk over the names of a container whose cost depends on what it returns. If a delimiter folds
// many names into one prefix, the walk skips all of them with one seek.
import { lastKeyString } from '../../../kv/key.ts'
import type { Entry, ReadTx, Step } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { BATCH_MAX, BATCH_MIN, nextBatch, SKIP_MAX } from '../../shared/cursor.ts'
import { decodeBlob, isBlobExpired } from '../blob.ts'
import { requireContainer, type ContainerAddress } from '../container/container.ts'
import { blobKeyPrefix } from '../keys.ts'
import { getProtection, visibleAccess, type Protection } from '../protection.ts'
import { listMerged } from './list-merge.ts'
import {
  BLOBS,
  foldedPrefix,
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
  const { items, next } = yield* listBlobs(tx, container.id, list, nowMs)
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

/** An item, a name that is not listed, or undefined for what follows a prefix in the same scan. */
type Visited = BlobItem | { readonly skipped: string } | undefined

/** Lists current blobs only, as most lists do: one range of keys. */
function* listCurrent(
  tx: ReadTx,
  containerId: number,
  list: ListBlobs,
  nowMs: number,
): Step<BlobPage> {
  const nameAt = blobKeyPrefix(containerId, '').length - 1
  let isFolded = false
  const pick = ({ key, value }: Entry): Visited => {
    if (isFolded) return undefined
    const name = lastKeyString(key, nameAt)
    const blob = decodeBlob(value)
    if (isBlobExpired(blob, nowMs)) return { skipped: name }
    const prefix = foldedPrefix(name, list)
    if (prefix === undefined) return { name, blob }
    isFolded = true
    return { prefix }
  }
  const items: BlobItem[] = []
  let { from, to } = listRange(BLOBS, containerId, list)
  let batch = list.delimiter === undefined ? BATCH_MAX : BATCH_MIN
  let skipped = 0
  while (Buffer.compare(from, to) < 0) {
    isFolded = false
    const countMax = Math.min(batch, list.countMax + 1 - items.length)
    const found = (yield* tx.scanFields({ from, to, countMax })).map(pick)
    skipped += addItems(items, found)
    if (items.length > list.countMax) {
      const page = items.slice(0, list.countMax)
      return { items: page, next: positionAfter(page.at(-1)) }
    }
    if (!isFolded && found.length < countMax) break
    const next = positionAfter(isFolded ? items.at(-1) : found.at(-1))
    if (next === undefined) break
    if (skipped > SKIP_MAX) return { items, next }
    from = startKey(BLOBS, containerId, next)
    batch = isFolded ? BATCH_MIN : nextBatch(batch)
    yield* giveWay()
  }
  return { items, next: undefined }
}

/** Returns the number of names that are not listed. */
function addItems(items: BlobItem[], found: readonly Visited[]): number {
  let skipped = 0
  for (const visited of found) {
    if (visited === undefined) break
    if ('skipped' in visited) skipped += 1
    else items.push(visited)
  }
  return skipped
}

function positionAfter(visited: Visited): ListPosition | undefined {
  if (visited === undefined) return undefined
  if ('prefix' in visited) return { afterPrefix: visited.prefix }
  return { afterName: 'skipped' in visited ? visited.skipped : visited.name }
}
