// Paths in SMB: from the share's root, with backslashes between names; slashes are accepted too, as in Samba. The names
// follow storage/file/tree/file-name.ts. One of them may be the label of a snapshot (`@GMT-…`), in which the rest is
// then looked up.
import { parseFilePath } from '../../storage/file/tree/file-name.ts'
import { SmbError } from '../smb-error.ts'
import { decodeSnapshotLabel } from '../wire/snapshot-label.ts'

export type FilePath = {
  /** Empty for the root. */
  readonly path: readonly string[]
  readonly snapshotMs?: number
  /** The path ends with a backslash, so it must be a directory. */
  readonly isDirectory: boolean
}

/** `a\\..\\b` is `b` even if `a` does not exist, as in Samba. A path can't leave the share. */
function withoutParents(names: readonly string[]): readonly string[] {
  const left: string[] = []
  for (const name of names) {
    if (name !== '..') left.push(name)
    else if (left.pop() === undefined) throw new SmbError('OBJECT_PATH_SYNTAX_BAD')
  }
  return left
}

export function decodeFilePath(text: string): FilePath {
  const names = withoutParents(text.split(/[\\/]/))
  const label = names.find((name) => decodeSnapshotLabel(name) !== undefined)
  const snapshotMs = label === undefined ? undefined : decodeSnapshotLabel(label)
  const rest = names.filter((name) => name !== label).join('\\')
  return {
    path: parseFilePath(rest, { allowTrailingDot: true }),
    isDirectory: text.endsWith('\\'),
    ...(snapshotMs !== undefined && { snapshotMs }),
  }
}
