// List Paths: what is in a directory, on request with everything below it. A page costs what it returns.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { giveWay } from '../../kv/step.ts'
import { findBlob, isBlobExpired } from '../blob/blob.ts'
import type { Container } from '../blob/container/container.ts'
import { blobKey } from '../blob/keys.ts'
import { getDirectoryAccess } from '../blob/path/access.ts'
import { namesOfPath } from '../blob/path/path-name.ts'
import type { PathEntry } from '../blob/path/path-state.ts'
import { TreeWalker, type WalkStart } from '../blob/path/walk-tree.ts'
import type { Blob } from '../blob/record.ts'
import { SKIP_MAX } from '../shared/cursor.ts'
import { StorageError } from '../shared/error.ts'
import { EXECUTE, READ } from '../blob/access/acl.ts'
import { isAllowed, type Actor } from '../blob/access/actor.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type ListPaths = {
  readonly isRecursive: boolean
  readonly countMax: number
  /** Below the listed directory. */
  readonly start: { readonly after: string } | { readonly from: string } | undefined
}

export type ListedPath = {
  /** From the root of the filesystem. */
  readonly path: string
  readonly blob: Blob
}

export type PathPage = {
  readonly container: Container
  readonly items: readonly ListedPath[]
  /** The `after` of the next page. */
  readonly next: string | undefined
}

/** Records that are read between two pauses for other transactions. */
const GIVE_WAY_COUNT = 64

/** The path of the address is the directory. Only in hierarchical containers. */
export function* listPaths(
  tx: ReadTx,
  address: PathAddress,
  list: ListPaths,
  nowMs: number,
): Step<PathPage> {
  const { container, located, stored } = yield* findBlob(tx, blobOfPath(address, 'list'), nowMs)
  if (located === undefined) throw new StorageError('HierarchicalNamespaceNotEnabled')
  if (stored === undefined) throw new StorageError('PathNotFound')
  const { spaceId, entry, names } = located
  const directory = entry ?? { id: located.rootId }
  if (directory.isDirectory !== true) return { container, ...(yield* oneFile(stored.blob, names)) }
  const base = names.length === 0 ? '' : `${names.join('/')}/`
  const walker = new TreeWalker(tx, {
    spaceId,
    directoryId: directory.id,
    path: base,
    namePrefix: '',
    isRecursive: list.isRecursive,
    expectedCount: list.countMax + 1,
  })
  yield* walker.open(startOf(list))
  const items: ListedPath[] = []
  const checked =
    list.isRecursive && address.actor?.kind !== 'superuser' ? address.actor : undefined
  let [last, skipped]: [string | undefined, number] = [undefined, 0]
  for (;;) {
    const walked = walker.peekRead() ?? (yield* walker.peek())
    if (walked === undefined) return { container, items, next: undefined }
    if (items.length === list.countMax || skipped > SKIP_MAX)
      return { container, items, next: last?.slice(base.length) }
    walker.advance()
    const blob = yield* tx.getFields<Blob>(blobKey(spaceId, walked.entry.id))
    if (blob === undefined || isBlobExpired(blob, nowMs)) skipped += 1
    else items.push({ path: walked.path, blob })
    if (checked !== undefined) yield* checkReadable(tx, checked, spaceId, walked.entry)
    last = walked.path
    if (items.length % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
}

/** The list of a file is the file. */
function* oneFile(blob: Blob, names: readonly string[]): Step<Omit<PathPage, 'container'>> {
  return { items: [{ path: names.join('/'), blob }], next: undefined }
}

function startOf({ start }: ListPaths): WalkStart | undefined {
  if (start === undefined) return undefined
  if ('from' in start) return { names: namesOfPath(start.from), mode: 'includes' }
  return { names: namesOfPath(start.after), mode: 'follows' }
}

/** A recursive list needs r and x on every directory. */
function* checkReadable(
  tx: ReadTx,
  actor: Actor,
  spaceId: number,
  { id, isDirectory }: PathEntry,
): Step<void> {
  if (isDirectory !== true) return
  const access = yield* getDirectoryAccess(tx, spaceId, id)
  if (!isAllowed(actor, access, READ | EXECUTE)) {
    throw new StorageError('AuthorizationPermissionMismatch')
  }
}
