// Paths as SMB writes them: from the share's root on, with backslashes between the names (slashes are taken for
// them, as Samba does), which are those of storage/file/tree/file-name.ts. One name may be a snapshot's (`@GMT-…`):
// the rest is then looked for in it.
import { parseFilePath } from '../../storage/file/tree/file-name.ts'
import { SmbError } from '../smb-error.ts'
import { decodeSnapshotLabel } from '../wire/snapshot-label.ts'

export type FilePath = {
  /** None for the root. */
  readonly path: readonly string[]
  readonly snapshotMs?: number
  /** A backslash at the end: only a directory can be meant. */
  readonly isDirectory: boolean
}

/** `a\\..\\b` is `b`, whether or not there is an `a`, as Samba has it; the way out of the share is none. */
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
