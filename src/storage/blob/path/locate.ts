// Resolves a path of a hierarchical container: entry by entry from the root, so that the answer is that of one state,
// whatever is renamed or deleted meanwhile.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { pathEntryKey } from '../keys.ts'
import { namesOfPath } from './path-name.ts'
import { rootIdOf, type PathEntry } from './path-state.ts'

/** The tree of a hierarchical container. */
export type Tree = { readonly spaceId: number; readonly rootId: string }

export type Located = Tree & {
  readonly names: readonly string[]
  /** The ids of the directories of the path that exist, the root first. */
  readonly directoryIds: readonly string[]
  /** The number of parents that don't exist. */
  readonly missingCount: number
  /** A parent is a file. */
  readonly isBelowFile: boolean
  readonly entry: PathEntry | undefined
}

/** Undefined: the container is flat. */
export function treeOf({ id, spaceId }: { readonly id: number; readonly spaceId?: number }) {
  return spaceId === undefined ? undefined : { spaceId, rootId: rootIdOf(id) }
}

export function getPathEntry(
  tx: ReadTx,
  { spaceId }: Pick<Tree, 'spaceId'>,
  directoryId: string,
  name: string,
): Step<PathEntry | undefined> {
  return tx.getFields<PathEntry>(pathEntryKey(spaceId, directoryId, name))
}

export function* locatePath(tx: ReadTx, tree: Tree, path: string): Step<Located> {
  const names = namesOfPath(path)
  const { spaceId, rootId } = tree
  const directoryIds = [rootId]
  let entry: PathEntry | undefined = { id: rootId, isDirectory: true }
  let found = 0
  for (; found < names.length && entry?.isDirectory === true; found += 1) {
    entry = yield* getPathEntry(tx, tree, entry.id, names[found] ?? '')
    if (entry?.isDirectory === true && found < names.length - 1) directoryIds.push(entry.id)
  }
  const isWhole = found === names.length
  return {
    spaceId,
    rootId,
    names,
    directoryIds,
    missingCount: Math.max(0, names.length - directoryIds.length),
    isBelowFile: !isWhole && entry !== undefined,
    entry: isWhole ? entry : undefined,
  }
}

/** The id of the directory that has or would have the entry; undefined if it doesn't exist. */
export function parentOf({ directoryIds, missingCount }: Located): string | undefined {
  return missingCount === 0 ? directoryIds.at(-1) : undefined
}

/** Missing parents of a new path are created with it, unless one of them is a file. */
export function checkNotBelowFile({ isBelowFile }: Located): void {
  if (isBelowFile) throw new StorageError('PathConflict')
}
