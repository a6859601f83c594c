// List Paths of a flat container: its blobs, with the prefixes of their names as directories.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { requireContainer, type Container } from '../blob/container/container.ts'
import { listBlobPage } from '../blob/list/list.ts'
import type { BlobItem, ListPosition } from '../blob/list/list-page.ts'
import type { Blob } from '../blob/record.ts'
import type { ListPaths } from './list-paths.ts'
import type { PathAddress } from './path-address.ts'

/** Without a blob: a directory that is only the prefix of names. */
export type FlatItem = { readonly path: string; readonly blob: Blob | undefined }

export type FlatPage = {
  readonly container: Container
  readonly items: readonly FlatItem[]
  readonly next: string | undefined
}

export function* listFlatPaths(
  tx: ReadTx,
  address: PathAddress,
  { isRecursive, countMax, start }: ListPaths,
  nowMs: number,
): Step<FlatPage> {
  const container = yield* requireContainer(tx, address)
  const prefix = address.path === '' ? '' : `${address.path}/`
  const list = {
    prefix,
    delimiter: isRecursive ? undefined : '/',
    start: start && startOf(prefix, start),
    countMax,
  }
  const page = yield* listBlobPage(tx, address, list, nowMs)
  const items = page.items.flatMap((item) => itemOf(item))
  return { container, items: withoutTwins(items), next: page.next && nextOf(prefix, page.next) }
}

/** The names after a directory are those after its prefix. */
function startOf(prefix: string, start: NonNullable<ListPaths['start']>): ListPosition {
  if ('from' in start) return { fromName: prefix + start.from }
  const { after } = start
  return after.endsWith('/') ? { afterPrefix: prefix + after } : { afterName: prefix + after }
}

function nextOf(prefix: string, next: ListPosition): string | undefined {
  if ('afterPrefix' in next) return next.afterPrefix.slice(prefix.length)
  return 'afterName' in next ? next.afterName.slice(prefix.length) : undefined
}

function itemOf(item: BlobItem): readonly FlatItem[] {
  if ('prefix' in item) return [{ path: item.prefix.slice(0, -1), blob: undefined }]
  return 'blob' in item ? [{ path: item.name, blob: item.blob }] : []
}

/** A blob that marks a directory, and the prefix of what is in it, are one directory. */
function withoutTwins(items: readonly FlatItem[]): readonly FlatItem[] {
  const marked = new Set(items.flatMap(({ path, blob }) => (blob === undefined ? [] : path)))
  return items.filter(({ path, blob }) => blob !== undefined || !marked.has(path))
}
