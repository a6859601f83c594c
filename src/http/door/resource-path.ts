// Resolves the path of a request, once and before authentication. SAS scopes, stored access policies, public
// access and the operation all use this path, so the resource that is authorized is the one that is opened.
import type { AuthRequest, HttpEndpoint } from '../../auth/request.ts'
import { parseFilePath } from '../../storage/file/tree/file-name.ts'
import { canonicalBlobName } from '../../storage/shared/name.ts'
import { optionalBoolean } from '../protocol/header.ts'
import { decodeSegments, decodeTableSegments } from '../protocol/query.ts'
import { isAtLeast } from './version.ts'

type Path = AuthRequest['path']
type Context = Pick<AuthRequest, 'query' | 'headers' | 'version'>

/** The container of blobs whose path names no container. */
export const ROOT_CONTAINER = '$root'

/** `resource` is the path after the account, still encoded, without its first slash. */
export function resolvePath(endpoint: HttpEndpoint, resource: string, context: Context): Path {
  if (endpoint === 'table') return decodeTableSegments(resource)
  const path = decodeSegments(resource)
  if (endpoint === 'blob') return blobPath(path, resource, context)
  if (endpoint === 'dfs') return lakePath(path, context)
  return endpoint === 'file' ? filePath(path, context) : path
}

/**
 * The root directory of a filesystem and the filesystem have the same path. A list is addressed by its directory. Slashes at
 * the ends mean nothing.
 */
function lakePath(path: Path, { query }: Context): Path {
  const isFilesystem = query.get('resource')?.toLowerCase() === 'filesystem'
  const [filesystem, name = isFilesystem ? query.get('directory') : undefined] = path
  if (filesystem === undefined || name === undefined) return path
  const trimmed = name.replace(/^\/+|\/+$/g, '')
  const canonical = trimmed === '' ? '' : canonicalBlobName(trimmed)
  return canonical === '' ? [filesystem] : [filesystem, canonical]
}

function blobPath(path: Path, resource: string, { query }: Context): Path {
  const [first, name] = path
  if (first === undefined) return path
  if (name !== undefined) return [first, canonicalBlobName(name)]
  if (query.has('restype')) return path
  const blob = resource.endsWith('/') ? `${first}/` : first
  return [ROOT_CONTAINER, canonicalBlobName(blob)]
}

function filePath(path: Path, context: Context): Path {
  const [share, text] = path
  if (share === undefined || text === undefined) return path
  const names = parseFilePath(text, { allowTrailingDot: keepsTrailingDots(context) })
  return names.length === 0 ? [share] : [share, names.join('/')]
}

/** Before 2022-11-02 the service always removed trailing dots from names. */
function keepsTrailingDots({ headers, version }: Context): boolean {
  return (
    isAtLeast(version, '2022-11-02') &&
    (optionalBoolean(headers, 'x-ms-allow-trailing-dot') ?? false)
  )
}
