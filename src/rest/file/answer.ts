// The response headers of directories and files.
import { metadataHeaders } from '../../http/protocol/header.ts'
import { leaseHeaders } from '../shared/lease-header.ts'
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { contentRange } from '../../http/protocol/range.ts'
import { derived } from '../../kv/derived.ts'
import { NO_CONTENT_TYPE, type ContentHeaders } from '../../storage/shared/content-headers.ts'
import { attributesText } from '../../storage/file/tree/attributes.ts'
import { fileTimeText } from '../../storage/file/tree/file-time.ts'
import type { FileNode } from '../../storage/file/tree/node.ts'
import { copyHeaders, pushIf, validators } from '../shared/answer-header.ts'

/** Files are never encrypted by the server. */
export const WRITTEN = ['x-ms-request-server-encrypted', 'false'] as const

/** The SMB properties and, on shares with NFS, the POSIX ones. */
export function smbHeaders(node: FileNode): string[] {
  const headers = [
    'x-ms-file-permission-key', node.permissionKey,
    'x-ms-file-attributes', attributesText(node),
    'x-ms-file-creation-time', fileTimeText(node.creationTime),
    'x-ms-file-last-write-time', fileTimeText(node.lastWriteTime),
    'x-ms-file-change-time', fileTimeText(node.changeTime),
    'x-ms-file-id', String(node.nodeId),
    'x-ms-file-parent-id', String(node.parentId),
  ] // prettier-ignore
  if (node.mode !== undefined) pushPosixHeaders(headers, node, node.mode)
  return headers
}

function pushPosixHeaders(headers: string[], node: FileNode, mode: string): void {
  const { owner = '0', group = '0', linkCount = 1, kind } = node
  headers.push('x-ms-owner', owner, 'x-ms-group', group, 'x-ms-mode', mode)
  if (kind === 'file') headers.push('x-ms-link-count', String(linkCount))
  headers.push('x-ms-file-file-type', FILE_TYPES[kind])
}

const FILE_TYPES = { directory: 'Directory', file: 'Regular', symlink: 'SymLink' } as const

/** Headers of Get File; `range` if the client requested only a part. */
export function contentHeaders(
  node: FileNode,
  range: ByteRange | undefined,
  nowMs: number,
): readonly string[] {
  // A lease changes with time, so its headers can't be cached.
  const isCacheable = range === undefined && node.lease === undefined
  if (!isCacheable) return [...ACCEPT_RANGES, ...fileHeaders(node, range, nowMs)]
  return derived(node, 'headers', () => [...ACCEPT_RANGES, ...fileHeaders(node, range, nowMs)])
}

const ACCEPT_RANGES = ['Accept-Ranges', 'bytes'] as const

function typeHeader({ contentType = 'application/octet-stream' }: ContentHeaders): string[] {
  return contentType === NO_CONTENT_TYPE ? [] : ['Content-Type', contentType]
}

/** Shared with Get File Properties; without `nowMs` the lease is left out. */
export function fileHeaders(
  node: FileNode,
  range: ByteRange | undefined,
  nowMs: number | undefined,
): string[] {
  const { headers: stored = {}, copy, lengthBytes } = node
  const part = range ?? { from: 0, to: lengthBytes }
  const headers = [
    'Content-Length', String(part.to - part.from),
    ...typeHeader(stored),
    'x-ms-type', 'File',
    'x-ms-server-encrypted', 'false',
    ...validators(node),
    ...smbHeaders(node),
  ] // prettier-ignore
  if (nowMs !== undefined) headers.push(...leaseHeaders(node.lease, nowMs))
  pushIf(headers, range === undefined ? 'Content-MD5' : 'x-ms-content-md5', stored.contentMd5)
  if (range !== undefined) headers.push('Content-Range', contentRange(range, lengthBytes))
  pushIf(headers, 'Content-Encoding', stored.contentEncoding)
  pushIf(headers, 'Content-Language', stored.contentLanguage)
  pushIf(headers, 'Content-Disposition', stored.contentDisposition)
  pushIf(headers, 'Cache-Control', stored.cacheControl)
  headers.push(...metadataHeaders(node.metadata))
  if (copy !== undefined) headers.push(...copyHeaders(copy))
  return headers
}
