// The response headers of directories and files.
import { formatHttpDate } from '../../http/date.ts'
import { etagOf } from '../../storage/etag.ts'
import { attributesText } from '../../storage/file/attributes.ts'
import { fileTimeText } from '../../storage/file/file-time.ts'
import type { FileNode } from '../../storage/file/node.ts'

export function validators(object: {
  readonly stamp: number
  readonly modifiedMs: number
}): string[] {
  return ['ETag', etagOf(object.stamp), 'Last-Modified', formatHttpDate(object.modifiedMs)]
}

/** What a write says of encryption: files have none. */
export const WRITTEN = ['x-ms-request-server-encrypted', 'false'] as const

/** SMBPROPS of the specification, and those of NFS where the share has it. */
export function smbHeaders(node: FileNode): string[] {
  return [
    'x-ms-file-permission-key', node.permissionKey,
    'x-ms-file-attributes', attributesText(node),
    'x-ms-file-creation-time', fileTimeText(node.creationTime),
    'x-ms-file-last-write-time', fileTimeText(node.lastWriteTime),
    'x-ms-file-change-time', fileTimeText(node.changeTime),
    'x-ms-file-id', String(node.nodeId),
    'x-ms-file-parent-id', String(node.parentId),
    ...posixHeaders(node),
  ] // prettier-ignore
}

function posixHeaders({ owner, group, mode, linkCount, kind }: FileNode): string[] {
  if (mode === undefined) return []
  return [
    'x-ms-owner', owner ?? '0',
    'x-ms-group', group ?? '0',
    'x-ms-mode', mode,
    ...(kind === 'file' ? ['x-ms-link-count', String(linkCount ?? 1)] : []),
    'x-ms-file-file-type', FILE_TYPES[kind],
  ] // prettier-ignore
}

const FILE_TYPES = { directory: 'Directory', file: 'Regular', symlink: 'SymLink' } as const
