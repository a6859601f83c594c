// A copy source on another server: encodes the request and decodes the answer.
import { fetchSource, type FetchedSource } from '../../../http/client/fetch-source.ts'
import { optionalHeader, type HeaderFields } from '../../../http/protocol/header.ts'
import type { Request } from '../../../http/door/operation.ts'
import { invalidHeader } from '../../../storage/shared/error.ts'
import type { FetchWants, OpenSource, RemoteSource, SourceWants } from './copy-sources.ts'
import { sourceAuthorization, sourceKey, type SourceCall } from './source.ts'

export const CONNECT_TIMEOUT_MS = 15_000
export const IDLE_TIMEOUT_MS = 30_000

export type OpenRemote = OpenSource & {
  readonly answerHeaders: HeaderFields
  /** The answer's headers again, if the source is a file of another File service. */
  readonly smbHeaders?: HeaderFields
}

export async function openRemote(
  call: SourceCall,
  { url }: RemoteSource,
  wants: Pick<SourceWants, 'range'> & FetchWants,
): Promise<OpenRemote> {
  const fetched = await fetchRemote(call, url, wants)
  return {
    lengthBytes: fetched.lengthBytes,
    stream: () => fetched.stream(),
    answerHeaders: fetched.headers,
    headers: fetched.contentHeaders,
    metadata: fetched.metadata,
    ...(fetched.etag !== undefined && { etag: fetched.etag }),
    isRanged: optionalHeader(fetched.headers, 'accept-ranges') === 'bytes',
    ...fileProperties(fetched),
    close: () => fetched.close(),
  }
}

export function fetchRemote(
  { request, service }: SourceCall,
  url: URL,
  { range, isFetched = false }: Pick<SourceWants, 'range'> & FetchWants,
): Promise<FetchedSource> {
  const { patterns, signal } = service.copySources
  const limits = { connectTimeoutMs: CONNECT_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS }
  const headers = remoteHeaders(request, url)
  const ask = { method: 'GET', headers, patterns, signal, isFetched, ...limits } as const
  return fetchSource({ ...ask, url, ...(range && { range }) })
}

function fileProperties({
  headers,
}: FetchedSource): Pick<OpenRemote, 'takesConditions' | 'smbHeaders'> {
  const isFile = optionalHeader(headers, 'x-ms-type')?.toLowerCase() === 'file'
  return isFile ? { takesConditions: false, smbHeaders: headers } : { takesConditions: true }
}

const CONDITIONS = ['match', 'none-match', 'modified-since', 'unmodified-since', 'tags'] as const
const KEY = ['key', 'key-sha256', 'algorithm'] as const

/** The headers for the source: its conditions, key and token. */
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
    // As for our own clients: never send a key in the clear.
    if (url.protocol !== 'https:') throw invalidHeader('x-ms-copy-source', url.origin)
    for (const name of KEY) {
      const value = optionalHeader(request.headers, `x-ms-source-encryption-${name}`)
      set(`x-ms-encryption-${name}`, value)
    }
  }
  set('x-ms-file-request-intent', optionalHeader(request.headers, 'x-ms-file-request-intent'))
  // A storage service needs the version for all of the above; other servers ignore it.
  set('x-ms-version', request.version)
  return headers
}
