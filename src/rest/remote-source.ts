// The source of a copy that another server has: what it is asked, and what its answer says of it.
import { fetchSource, type Source as Fetched } from '../http/fetch-source.ts'
import { optionalHeader } from '../http/header.ts'
import type { Request } from '../http/operation.ts'
import { decodeTagsXml } from '../http/tags-xml.ts'
import type { BlobType } from '../storage/blob/blob.ts'
import type { TypeProperties } from '../storage/blob/copy.ts'
import { PAGE_BYTES } from '../storage/blob/page-range.ts'
import { NO_TAGS, type Tags } from '../storage/blob/tags.ts'
import { invalidHeader, StorageError } from '../storage/error.ts'
import { TAGS_BYTES_MAX } from './blob/tags.ts'
import type { FetchWants, OpenSource, SourceWants } from './open-source.ts'
import { sourceAuthorization, sourceKey, type RemoteSource, type SourceCall } from './source.ts'
import { collect } from './upload.ts'

export const CONNECT_TIMEOUT_MS = 15_000
export const IDLE_TIMEOUT_MS = 30_000

export async function openRemote(
  { request, service }: SourceCall,
  { url }: RemoteSource,
  { range, tags, isFetched = false }: Pick<SourceWants, 'range' | 'tags'> & FetchWants,
): Promise<OpenSource> {
  const { patterns, signal } = service.copySources
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS }
  const headers = remoteHeaders(request, url)
  const ask = { method: 'GET', headers, patterns, signal, isFetched, ...limits } as const
  const fetched = await fetchSource({ ...ask, url, ...(range && { range }) })
  try {
    return {
      lengthBytes: fetched.lengthBytes,
      stream: () => fetched.stream(),
      properties: remoteProperties(fetched),
      headers: fetched.contentHeaders,
      metadata: fetched.metadata,
      tags: tags ? await remoteTags(await fetchSource({ ...ask, url: tagsUrl(url) })) : NO_TAGS,
      ...(fetched.etag !== undefined && { etag: fetched.etag }),
      isRanged: optionalHeader(fetched.headers, 'accept-ranges') === 'bytes',
      ...fileProperties(fetched),
      close: () => fetched.close(),
    }
  } catch (error) {
    fetched.close()
    throw error
  }
}

function fileProperties({ headers }: Fetched): Pick<OpenSource, 'takesConditions' | 'smbHeaders'> {
  const isFile = optionalHeader(headers, 'x-ms-type')?.toLowerCase() === 'file'
  return isFile ? { takesConditions: false, smbHeaders: headers } : { takesConditions: true }
}

const CONDITIONS = ['match', 'none-match', 'modified-since', 'unmodified-since', 'tags'] as const
const KEY = ['key', 'key-sha256', 'algorithm'] as const

/** What the source is to see: its conditions, its key, the token for it. */
function remoteHeaders(request: Request, url: URL): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  const set = (name: string, value: string | undefined): void => {
    if (value !== undefined) headers[name] = value
  }
  set('authorization', sourceAuthorization(request))
  for (const name of CONDITIONS) {
    const value = optionalHeader(request.headers, `x-ms-source-if-${name}`)
    set(name === 'tags' ? 'x-ms-if-tags' : `if-${name}`, value)
  }
  if (sourceKey(request) !== undefined) {
    // A key in the clear is everybody's, there as here.
    if (url.protocol !== 'https:') throw invalidHeader('x-ms-copy-source', url.origin)
    for (const name of KEY) {
      const value = optionalHeader(request.headers, `x-ms-source-encryption-${name}`)
      set(`x-ms-encryption-${name}`, value)
    }
  }
  set('x-ms-file-request-intent', optionalHeader(request.headers, 'x-ms-file-request-intent'))
  // Other servers take no harm from it; a storage service needs it for all of this.
  set('x-ms-version', request.version)
  return headers
}

const TYPES: readonly BlobType[] = ['BlockBlob', 'PageBlob', 'AppendBlob']

/** Another storage service says what its blob is; what any other server has is a block blob. */
function remoteProperties({ headers, lengthBytes }: Fetched): TypeProperties {
  const named = optionalHeader(headers, 'x-ms-blob-type')
  const type = TYPES.find((each) => each === named) ?? 'BlockBlob'
  if (type === 'PageBlob') {
    if (lengthBytes % PAGE_BYTES !== 0) return { type: 'BlockBlob' }
    const sequenceNumber = optionalHeader(headers, 'x-ms-blob-sequence-number') ?? ''
    return { type, sequenceNumber: /^\d{1,18}$/.test(sequenceNumber) ? sequenceNumber : '0' }
  }
  if (type === 'BlockBlob') return { type }
  const blockCount = Number(optionalHeader(headers, 'x-ms-blob-committed-block-count'))
  const isSealed = optionalHeader(headers, 'x-ms-blob-sealed') === 'true'
  return {
    type,
    blockCount: Number.isSafeInteger(blockCount) ? blockCount : 1,
    ...(isSealed && { isSealed }),
  }
}

function tagsUrl(url: URL): URL {
  const tags = new URL(url)
  tags.search = `${url.search === '' ? '?' : `${url.search}&`}comp=tags`
  return tags
}

async function remoteTags(fetched: Fetched): Promise<Tags> {
  try {
    if (fetched.lengthBytes > TAGS_BYTES_MAX) throw new StorageError('TagsTooLarge')
    return decodeTagsXml(await collect(fetched.stream()))
  } catch (error) {
    if (!(error instanceof StorageError) || error.code === 'CannotVerifyCopySource') throw error
    const message = `Could not verify the copy source: its tags are invalid (${error.code}).`
    throw new StorageError('CannotVerifyCopySource', {}, message, 409)
  } finally {
    fetched.close()
  }
}
