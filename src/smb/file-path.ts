// Paths as SMB writes them: from the share's root on, with backslashes between the names (slashes are taken for
// them, as Samba does), which are those of storage/file/file-name.ts. One name may be a snapshot's (`@GMT-…`): the rest is then looked for in it.
import { parseFilePath } from '../storage/file/file-name.ts'
import { SmbError } from './smb-error.ts'
import { decodeSnapshotLabel } from './wire/snapshot-label.ts'

export type FilePath = {
  /** None for the root. */
  readonly path: readonly string[]
  readonly snapshotMs?: number
  /** A backslash at the end: only a directory can be meant. */
  readonly isDirectory: boolean
}

export function decodeFilePath(text: string): FilePath {
  const names = text.split(/[\\/]/)
  // As Samba says it of a way out of the share; names are never relative.
  if (names.includes('..')) throw new SmbError('OBJECT_PATH_SYNTAX_BAD')
  const label = names.find((name) => decodeSnapshotLabel(name) !== undefined)
  const snapshotMs = label === undefined ? undefined : decodeSnapshotLabel(label)
  const rest = names.filter((name) => name !== label).join('\\')
  return {
    path: parseFilePath(rest, { allowTrailingDot: true }),
    isDirectory: text.endsWith('\\'),
    ...(snapshotMs !== undefined && { snapshotMs }),
  }
}
