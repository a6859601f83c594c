// What List Blobs merges in a hierarchical container: three sources in the order of the tree, each opened where the page starts.
import { decodeKey } from '../../../kv/key.ts'
import { keyAfterPrefix, prefixRange, type Key, type ReadTx, type Step } from '../../../kv/kv.ts'
import { decodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { openCursor, type Cursor } from '../../shared/cursor.ts'
import { decodeStaging, type Staging } from '../content/staging.ts'
import { deletedPathKeyPrefix, stagingKeyPrefix } from '../keys.ts'
import { locatePath, type Tree } from '../path/locate.ts'
import { namesOfPath, treeOrder } from '../path/path-name.ts'
import { containerIdOfRoot, uncommittedName, type DeletedPath } from '../path/path-state.ts'
import { TreeWalker, type WalkedPath, type WalkStart } from '../path/walk-tree.ts'
import type { ListBlobs, ListPosition } from './list-page.ts'

export type StagedPath = { readonly order: string; readonly staging: Staging }

export type DeletedItem = {
  readonly order: string
  readonly stamp: number
  readonly deleted: DeletedPath
}

export type Sources = {
  /** The list's prefix, without superfluous slashes. */
  readonly prefix: string
  /** The list ends before this order. */
  readonly end: string | undefined
  readonly walker: Pick<TreeWalker, 'peek' | 'advance'>
  readonly stagings: Cursor<StagedPath>
  readonly deleted: Cursor<DeletedItem>
  /** Uncommitted and deleted paths with this prefix have been listed as one. */
  skip(prefix: string): void
}

export function* openSources(tx: ReadTx, tree: Tree, list: ListBlobs): Step<Sources> {
  const { directory, namePrefix } = splitPrefix(list.prefix)
  const base = directory.length === 0 ? '' : `${directory.join('/')}/`
  const prefix = `${base}${namePrefix}`
  const walker = yield* openWalker(tx, tree, list, { base, directory, namePrefix })
  const stagings = openStagings(tx, tree, prefix, list)
  const deleted = openDeleted(tx, tree, prefix, list)
  const seek = (order: string, isAfter: boolean): void => {
    const staged = stagingKeyPrefix(tree.spaceId, stagedName(tree, order))
    const gone = deletedPathKeyPrefix(containerOf(tree), order)
    stagings.seek(isAfter ? keyAfterPrefix(staged) : staged)
    deleted.seek(isAfter ? keyAfterPrefix(gone) : gone)
  }
  if (list.start !== undefined) seekStart(list.start, seek)
  const end = list.endBefore === undefined ? undefined : orderOf(list.endBefore)
  return { prefix, end, walker, stagings, deleted, skip: (folded) => seek(treeOrder(folded), true) }
}

function splitPrefix(prefix: string) {
  const at = prefix.lastIndexOf('/')
  return { directory: namesOfPath(prefix.slice(0, at + 1)), namePrefix: prefix.slice(at + 1) }
}

function orderOf(path: string): string {
  return namesOfPath(path).join('\0')
}

function containerOf({ rootId }: Tree): number {
  return containerIdOfRoot(rootId) ?? 0
}

function stagedName({ rootId }: Tree, order: string): string {
  return uncommittedName(rootId, [order])
}

function seekStart(start: ListPosition, seek: (order: string, isAfter: boolean) => void): void {
  if ('fromName' in start) seek(orderOf(start.fromName), false)
  // The name itself follows once more if only its past states have been listed.
  else if ('afterPast' in start) seek(orderOf(start.afterPast), false)
  else if ('afterPrefix' in start) seek(`${orderOf(start.afterPrefix)}\0`, true)
  else seek(`${orderOf(start.afterName)}\0`, false)
}

type Below = {
  readonly base: string
  readonly directory: readonly string[]
  readonly namePrefix: string
}

const NOTHING: Sources['walker'] = {
  *peek(): Step<WalkedPath | undefined> {
    return undefined
  },
  advance() {},
}

function* openWalker(
  tx: ReadTx,
  tree: Tree,
  list: ListBlobs,
  { base, directory, namePrefix }: Below,
): Step<Sources['walker']> {
  if (list.showsOnlyDeleted === true) return NOTHING
  const { entry } = yield* locatePath(tx, tree, base)
  if (entry?.isDirectory !== true) return NOTHING
  const start = startBelow(list.start, directory)
  if (start === 'behind') return NOTHING
  const walker = new TreeWalker(tx, {
    spaceId: tree.spaceId,
    directoryId: entry.id,
    path: base,
    namePrefix,
    isRecursive: list.delimiter === undefined,
    expectedCount: list.countMax + 1,
  })
  yield* walker.open(start)
  return walker
}

/** Where a page starts below the directory. Undefined: with everything in it; 'behind': with nothing in it. */
function startBelow(
  start: ListPosition | undefined,
  directory: readonly string[],
): WalkStart | 'behind' | undefined {
  if (start === undefined) return undefined
  const { path, mode } = modeOf(start)
  const names = namesOfPath(path)
  for (const [at, name] of directory.entries()) {
    const given = names[at]
    if (given === undefined) return mode === 'skips' ? 'behind' : undefined
    if (given !== name) return given < name ? undefined : 'behind'
  }
  const below = names.slice(directory.length)
  if (below.length > 0) return { names: below, mode }
  return mode === 'skips' ? 'behind' : undefined
}

function modeOf(start: ListPosition): { readonly path: string; readonly mode: WalkStart['mode'] } {
  if ('fromName' in start) return { path: start.fromName, mode: 'includes' }
  if ('afterPast' in start) return { path: start.afterPast, mode: 'includes' }
  if ('afterPrefix' in start) return { path: start.afterPrefix, mode: 'skips' }
  return { path: start.afterName, mode: 'follows' }
}

function openStagings(
  tx: ReadTx,
  tree: Tree,
  prefix: string,
  { include, showsOnlyDeleted }: ListBlobs,
): Cursor<StagedPath> {
  const { from, to } = prefixRange(
    stagingKeyPrefix(tree.spaceId, stagedName(tree, treeOrder(prefix))),
  )
  const pick = (key: Key, value: StoredRecord): StagedPath => {
    const name = String(decodeKey(key)[2])
    return { order: name.slice(tree.rootId.length + 1), staging: decodeStaging(value) }
  }
  return openCursor(
    tx,
    { from: include?.uncommitted === true && showsOnlyDeleted !== true ? from : to, to },
    pick,
  )
}

function openDeleted(
  tx: ReadTx,
  tree: Tree,
  prefix: string,
  { include, showsOnlyDeleted = include?.deleted === true }: ListBlobs,
): Cursor<DeletedItem> {
  const { from, to } = prefixRange(deletedPathKeyPrefix(containerOf(tree), treeOrder(prefix)))
  const pick = (key: Key, value: StoredRecord): DeletedItem => {
    const [, , order, stamp] = decodeKey(key)
    return { order: String(order), stamp: Number(stamp), deleted: decodeRecord<DeletedPath>(value) }
  }
  return openCursor(tx, { from: showsOnlyDeleted ? from : to, to }, pick)
}
