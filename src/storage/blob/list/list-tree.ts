// List Blobs in a hierarchical container: the paths of its tree, directories included, merged with uncommitted blobs and
// soft-deleted paths if the request wants them. The order is that of the tree (path/walk-tree.ts).
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { SKIP_MAX } from '../../shared/cursor.ts'
import { invalidQuery } from '../../shared/error.ts'
import { isBlobExpired } from '../blob.ts'
import { isStagingExpired } from '../content/staging.ts'
import { blobKey } from '../keys.ts'
import type { Tree } from '../path/locate.ts'
import { treeOrder } from '../path/path-name.ts'
import type { WalkedPath } from '../path/walk-tree.ts'
import { pastOf } from '../past/past.ts'
import type { Blob } from '../record.ts'
import type { BlobItem, BlobPage, ListBlobs, ListPosition } from './list-page.ts'
import { openSources, type DeletedItem, type Sources } from './tree-source.ts'

type Walk = {
  readonly tx: ReadTx
  readonly tree: Tree
  readonly list: ListBlobs
  readonly nowMs: number
  readonly sources: Sources
}

/** What is listed of one path, in order. */
type PathItems = { readonly path: string; readonly items: readonly BlobItem[] }

const GIVE_WAY_COUNT = 64

/** The service folds names at slashes only. */
function checkDelimiter({ delimiter }: ListBlobs): void {
  if (delimiter !== undefined && delimiter !== '/') throw invalidQuery('delimiter', delimiter)
}

export function* listTree(tx: ReadTx, tree: Tree, list: ListBlobs, nowMs: number): Step<BlobPage> {
  checkDelimiter(list)
  const sources = yield* openSources(tx, tree, list)
  const walk: Walk = { tx, tree, list, nowMs, sources }
  const items: BlobItem[] = []
  let [last, skipped, count]: [ListPosition | undefined, number, number] = [undefined, 0, 0]
  for (;;) {
    const found = yield* next(walk)
    if (found === undefined) return { items, next: undefined }
    if (found.items.length === 0) skipped += 1
    for (const item of behindStart(found, list)) {
      if (items.length === list.countMax) return { items, next: last }
      items.push(item)
      last = positionAfter(item, found.path)
    }
    if (skipped > SKIP_MAX) return { items, next: { afterName: found.path } }
    count += 1
    if (count % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
}

/** A page that begins behind a past state of a path begins with the later ones. */
function behindStart({ path, items }: PathItems, { start }: ListBlobs): readonly BlobItem[] {
  if (start === undefined || !('afterPast' in start) || start.afterPast !== path) return items
  const at = items.findIndex((item) => 'past' in item && item.stamp === start.stamp)
  return at < 0 ? items.filter((item) => !('past' in item)) : items.slice(at + 1)
}

function positionAfter(item: BlobItem, path: string): ListPosition {
  if ('prefix' in item) return { afterPrefix: item.prefix }
  return 'past' in item ? { afterPast: path, stamp: item.stamp } : { afterName: path }
}

function* next(walk: Walk): Step<PathItems | undefined> {
  const { sources, list } = walk
  const walked = yield* sources.walker.peek()
  const staged = yield* sources.stagings.peek()
  const deleted = yield* sources.deleted.peek()
  const orders = [walked && treeOrder(walked.path), staged?.order, deleted?.order]
  const order = firstOf(orders)
  if (order === undefined) return undefined
  if (sources.end !== undefined && order >= sources.end) return undefined
  const path = order.replaceAll('\0', '/')
  const at = list.delimiter === undefined ? -1 : path.indexOf('/', sources.prefix.length)
  // Only uncommitted blobs and deleted paths can be deeper than the directories that the walk shows.
  if (at >= 0) return foldAt(sources, path.slice(0, at + 1))
  const items: BlobItem[] = []
  while ((yield* sources.deleted.peek())?.order === order) {
    const item = yield* sources.deleted.peek()
    sources.deleted.advance()
    if (item !== undefined) items.push(...(yield* deletedItems(walk, path, item)))
  }
  if (walked !== undefined && orders[0] === order) {
    sources.walker.advance()
    items.push(...(yield* pathItems(walk, walked)))
  }
  if (staged?.order === order) {
    sources.stagings.advance()
    const isShown = !isStagingExpired(staged.staging, walk.nowMs) && items.length === 0
    if (isShown) items.push({ name: path, staging: staged.staging })
  }
  return { path, items }
}

function firstOf(orders: readonly (string | undefined)[]): string | undefined {
  let first: string | undefined
  for (const order of orders) {
    if (order !== undefined && (first === undefined || order < first)) first = order
  }
  return first
}

function foldAt(sources: Sources, prefix: string): PathItems {
  sources.skip(prefix)
  return { path: prefix, items: [{ prefix }] }
}

function* pathItems(
  { tx, tree, list, nowMs, sources }: Walk,
  { path, entry }: WalkedPath,
): Step<readonly BlobItem[]> {
  const blob = yield* tx.getFields<Blob>(blobKey(tree.spaceId, entry.id))
  if (entry.isDirectory === true && list.delimiter !== undefined) {
    sources.skip(`${path}/`)
    return [{ prefix: `${path}/`, ...(blob && { directory: blob }) }]
  }
  if (blob === undefined || isBlobExpired(blob, nowMs)) return []
  const item: BlobItem = { name: path, blob }
  if (list.include?.snapshots !== true || entry.isDirectory === true) return [item]
  const place = { account: '', containerId: tree.spaceId, blob: entry.id }
  const pasts = (yield* pastOf(tx, place)).filter(({ stored }) => {
    const { kind, deleted } = stored.blob
    if (kind !== 'snapshot') return false
    return deleted === undefined || (list.include?.deleted === true && deleted.untilMs > nowMs)
  })
  const ofPast = pasts.map(({ stamp, stored }) => ({ name: path, past: stored.blob, stamp }))
  return [...ofPast, item]
}

function* deletedItems(
  { tx, tree, nowMs }: Walk,
  path: string,
  { stamp, deleted: { id, atMs, untilMs } }: DeletedItem,
): Step<readonly BlobItem[]> {
  if (untilMs <= nowMs) return []
  const blob = yield* tx.getFields<Blob>(blobKey(tree.spaceId, id))
  if (blob === undefined) return []
  const past = { ...blob, kind: 'root' as const, deleted: { atMs, untilMs } }
  return [{ name: path, past, stamp, deletionId: stamp }]
}
