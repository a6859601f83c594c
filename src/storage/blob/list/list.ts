// List Blobs: a walk over the names of a container that costs what it returns. Where a delimiter folds
// many names into one prefix, the walk seeks past all of them at once.
import { lastKeyString } from '../../../kv/key.ts'
import type { Entry, ReadTx, Step } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/paced.ts'
import { BATCH_MAX, BATCH_MIN, nextBatch, SKIP_MAX } from '../../shared/cursor.ts'
import { decodeBlob, isExpired } from '../blob.ts'
import { blobKeyPrefix } from '../keys.ts'
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

/** A name that is passed over, or nothing for what stands behind a fold in the same scan. */
type Seen = BlobItem | { readonly skipped: string } | undefined

/** Only the blobs that everyone sees: one range of keys, and most lists. */
function* listCurrent(
  tx: ReadTx,
  containerId: number,
  list: ListBlobs,
  nowMs: number,
): Step<BlobPage> {
  const nameAt = blobKeyPrefix(containerId, '').length - 1
  let isFolded = false
  const pick = ({ key, value }: Entry): Seen => {
    if (isFolded) return undefined
    const name = lastKeyString(key, nameAt)
    const blob = decodeBlob(value)
    if (isExpired(blob, nowMs)) return { skipped: name }
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
    skipped += addSeen(items, found)
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

/** Answers how many were passed over. */
function addSeen(items: BlobItem[], found: readonly Seen[]): number {
  let skipped = 0
  for (const seen of found) {
    if (seen === undefined) break
    if ('skipped' in seen) skipped += 1
    else items.push(seen)
  }
  return skipped
}

function positionAfter(seen: Seen): ListPosition | undefined {
  if (seen === undefined) return undefined
  if ('prefix' in seen) return { afterPrefix: seen.prefix }
  return { afterName: 'skipped' in seen ? seen.skipped : seen.name }
}
