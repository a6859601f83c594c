// Finds the path of a directory from the bottom up, relative to another directory.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { getNode, ROOT_ID } from './node.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** Cache of directories seen on the way up, to resolve directories that were deleted since. */
export type KnownDirectories = Map<number, { readonly parentId: number; readonly name: string }>

/** More than the directories of one path, but bounded. */
const KNOWN_MAX = 10_000

/** The names from below `topId` down to the directory: empty if it is `topId`, undefined if it is not below it. */
export function* pathBelow(
  tx: ReadTx,
  view: ShareView,
  directoryId: number,
  topId: number,
  known: KnownDirectories,
): Step<readonly string[] | undefined> {
  const names: string[] = []
  let at = directoryId
  while (at !== topId) {
    if (at === ROOT_ID) return undefined
    const node = yield* getNode(tx, view, at)
    const found =
      node?.directoryName === undefined
        ? known.get(at)
        : { parentId: node.parentId, name: node.directoryName }
    if (found === undefined) return undefined
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(at, found)
    names.unshift(found.name)
    at = found.parentId
  }
  return names
}
