// List Blobs: a walk over the names of a container that costs what it returns. Where a delimiter folds
// many names into one prefix, the walk seeks past all of them at once.
import { lastKeyString } from '../../kv/key.ts'
import { keyAfterPrefix, type Key, type ReadTx, type Step, type Value } from '../../kv/kv.ts'
import { decodeBlob, type Blob } from './blob.ts'
import { blobKey, blobKeyPrefix } from './keys.ts'

/** Where a page begins: after a name, or after every name that starts with a prefix. */
export type ListPosition =
  { readonly afterName: string } | { readonly afterPrefix: string } | { readonly fromName: string }

export type ListBlobs = {
  readonly prefix: string
  readonly delimiter: string | undefined
  readonly start: ListPosition | undefined
  readonly countMax: number
}

export type BlobItem = { readonly name: string; readonly blob: Blob } | { readonly prefix: string }

export type BlobPage = {
  readonly items: readonly BlobItem[]
  readonly next: ListPosition | undefined
}

/** The most records that one scan looks at. */
const BATCH_MAX = 1_000
/** After a jump few names may follow before the next one: begin small, then grow. */
const BATCH_MIN = 8

export function* listBlobs(tx: ReadTx, containerId: number, list: ListBlobs): Step<BlobPage> {
  const nameAt = blobKeyPrefix(containerId, '').length - 1
  const pick = (key: Key, value: Value): BlobItem => {
    const name = lastKeyString(key, nameAt)
    const prefix = foldedPrefix(name, list)
    return prefix === undefined ? { name, blob: decodeBlob(value) } : { prefix }
  }
  const to = keyAfterPrefix(blobKeyPrefix(containerId, list.prefix))
  const items: BlobItem[] = []
  let from = firstKey(containerId, list)
  let batch = list.delimiter === undefined ? BATCH_MAX : BATCH_MIN
  while (Buffer.compare(from, to) < 0) {
    const countMax = Math.min(batch, list.countMax + 1 - items.length)
    const found = yield* tx.scanWith({ from, to, countMax }, pick)
    const folded = found.findIndex((item) => 'prefix' in item)
    items.push(...(folded < 0 ? found : found.slice(0, folded + 1)))
    if (items.length > list.countMax) {
      const page = items.slice(0, list.countMax)
      return { items: page, next: positionAfter(page.at(-1)) }
    }
    const next = positionAfter(items.at(-1))
    if (next === undefined || (folded < 0 && found.length < countMax)) break
    from = startKey(containerId, next)
    batch = folded < 0 ? Math.min(batch * 4, BATCH_MAX) : BATCH_MIN
  }
  return { items, next: undefined }
}

function firstKey(containerId: number, list: ListBlobs): Key {
  const lowest = blobKeyPrefix(containerId, list.prefix)
  if (list.start === undefined) return lowest
  const start = startKey(containerId, list.start)
  return Buffer.compare(start, lowest) > 0 ? start : lowest
}

function startKey(containerId: number, start: ListPosition): Key {
  if ('fromName' in start) return blobKey(containerId, start.fromName)
  if ('afterName' in start) return keyAfter(blobKey(containerId, start.afterName))
  return keyAfterPrefix(blobKeyPrefix(containerId, start.afterPrefix))
}

function positionAfter(item: BlobItem | undefined): ListPosition | undefined {
  if (item === undefined) return undefined
  return 'prefix' in item ? { afterPrefix: item.prefix } : { afterName: item.name }
}

/** The part of the name up to the first delimiter behind the list's prefix. */
function foldedPrefix(name: string, list: ListBlobs): string | undefined {
  if (list.delimiter === undefined) return undefined
  const at = name.indexOf(list.delimiter, list.prefix.length)
  return at < 0 ? undefined : name.slice(0, at + list.delimiter.length)
}

function keyAfter(key: Key): Key {
  return Buffer.concat([key, Buffer.of(0)])
}
