// A path as the names of which it consists.
import { StorageError } from '../../shared/error.ts'

/** Deeper paths can't be created. */
export const PATH_DEPTH_MAX = 60

/** Several slashes count as one, and those at the ends don't count. None: the root. */
export function namesOfPath(path: string): readonly string[] {
  // Orders of paths have these in place of slashes.
  if (path.includes('\0')) throw new StorageError('InvalidUri')
  if (!path.includes('/')) return path === '' ? [] : [path]
  return path.split('/').filter((name) => name !== '')
}

/** A text that sorts like the path in the tree: whatever is below a directory follows it directly. */
export function treeOrder(path: string): string {
  return path.replaceAll('/', '\0')
}

export function checkDepth(names: readonly string[]): void {
  if (names.length > PATH_DEPTH_MAX) throw new StorageError('PathIsTooDeep')
}
