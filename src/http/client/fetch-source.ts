// Reads a copy source from another server: one request on a connection of its own, no redirects. Addresses are
// checked where the connection is made, so a name that resolves to another address the second time (DNS
// rebinding) gains nothing. A failure is CannotVerifyCopySource, with the source's own status if it sent one
// (Copy Blob, remarks).
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { ContentHeaders } from '../../storage/shared/content-headers.ts'
import { StorageError, type ErrorDetails } from '../../storage/shared/error.ts'
import type { Metadata } from '../../storage/shared/metadata.ts'
import { copyPermission, isPublicAddress, type CopyPattern } from './copy-source.ts'
import { parseHttpDate } from '../protocol/date.ts'
import { decodeMetadata, optionalHeader, type HeaderFields } from '../protocol/header.ts'
import { nodeHttp, nodeHttps } from '../protocol/node-modules.ts'

export type SourceRequest = {
  readonly url: URL
  readonly method: 'GET' | 'HEAD'
  /** Conditions, Authorization, x-ms-version: all that the source needs. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes [from, to), or from `from` to the end. Only for GET. */
  readonly range?: { readonly from: number; readonly to?: number }
  /** An unmet condition keeps the source's status; otherwise it becomes SourceConditionNotMet. */
  readonly isFetched?: boolean
  readonly patterns: readonly CopyPattern[]
  /** Cancels the request at any time; the signal's reason is thrown. */
  readonly signal: AbortSignal
  /** For name resolution, connection and TLS together. */
  readonly connectTimeoutMs: number
  /** For the whole head of the answer, and for each wait for more of its body. */
  readonly idleTimeoutMs: number
  readonly resolve?: Resolve
}

/** Returns the addresses of a host. */
type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/** An answer with 200 or 206. It keeps its connection until the stream ends or `close` is called. */
export type FetchedSource = {
  readonly status: 200 | 206
  readonly headers: HeaderFields
  /** The length of the body; for HEAD, of the body that GET would return. */
  readonly lengthBytes: number
  readonly etag?: string
  readonly lastModifiedMs?: number
  /** Content-MD5 is the whole blob's, so a range has it only if the source sends x-ms-blob-content-md5. */
  readonly contentHeaders: ContentHeaders
  readonly metadata: Metadata
  /** The body: yields exactly `lengthBytes` bytes or throws. Can be read once. */
  stream(): AsyncIterable<Uint8Array>
  /** Closes the connection; may be called at any time, and repeatedly. */
  close(): void
}

/** A storage service never sends more: metadata is at most 8 KiB, and a SAS is not echoed. */
const HEADER_LENGTH_MAX = 32 * 1024
const REASON_LENGTH_MAX = 256
const TIMED_OUT = 'Could not verify the copy source within the specified time.'

export async function fetchSource(request: SourceRequest): Promise<FetchedSource> {
  assert(request.method === 'GET' || request.range === undefined)
  request.signal.throwIfAborted()
  const exchange = await ask(request, connectGuard(request))
  try {
    checkStatus(exchange.message, request.isFetched ?? false)
    return sourceOf(request, exchange)
  } catch (error) {
    exchange.req.destroy()
    throw error
  }
}

type ConnectGuard = { readonly host: string; readonly lookup: LookupFunction }

/** The host to connect to, and a lookup that returns only permitted addresses. */
function connectGuard({ url, patterns, resolve = resolveAll }: SourceRequest): ConnectGuard {
  const permission = copyPermission(patterns, url)
  if (permission === 'refused') throw notPermitted(url)
  const isUsable = (ip: string): boolean => permission === 'any address' || isPublicAddress(ip)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // Node connects to an address without a lookup.
  if (isIP(host) !== 0 && !isUsable(host)) throw notPublic(url)
  const lookup: LookupFunction = (hostname, options, callback) => {
    const found = (addresses: readonly LookupAddress[]): void => {
      const usable = addresses.filter(({ address }) => isUsable(address))
      const [first] = usable
      if (first === undefined) callback(notPublic(url), [])
      else if (options.all === true) callback(null, usable)
      else callback(null, first.address, first.family)
    }
    resolve(hostname).then(found, (error: Error) => callback(error, []))
  }
  return { host, lookup }
}

function resolveAll(hostname: string): Promise<readonly LookupAddress[]> {
  return lookup(hostname, { all: true })
}

type Exchange = {
  readonly req: ClientRequest
  readonly message: IncomingMessage
  /** The error since the head of the answer, if any. */
  readonly failure: () => unknown
}

function ask(request: SourceRequest, guard: ConnectGuard): Promise<Exchange> {
  const { url, connectTimeoutMs, idleTimeoutMs } = request
  const secure = url.protocol === 'https:'
  return new Promise((resolve, reject) => {
    let failure: unknown
    const req = (secure ? nodeHttps() : nodeHttp()).request(requestOptions(request, guard))
    let timer = destroyAfter(req, connectTimeoutMs)
    req.once('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        clearTimeout(timer)
        timer = destroyAfter(req, idleTimeoutMs)
      })
    })
    req.once('response', (message) => {
      clearTimeout(timer)
      resolve({ req, message, failure: () => failure })
    })
    req.on('error', (error) => {
      failure ??= error
    })
    // Always the last event, even without an answer or an error (101, Upgrade).
    req.once('close', () => {
      clearTimeout(timer)
      reject(failureOf(request, failure))
    })
    req.end()
  })
}

function requestOptions(request: SourceRequest, { host, lookup }: ConnectGuard): RequestOptions {
  const { url, method, range, signal } = request
  return {
    method,
    host,
    port: url.port,
    path: url.pathname + url.search,
    headers: {
      ...request.headers,
      host: url.host,
      // A Content-Encoding in the answer is then a property of the blob, whose bytes are stored like that.
      'accept-encoding': 'identity',
      ...(range === undefined ? {} : { range: encodeRange(range) }),
    },
    lookup,
    signal,
    // A connection of its own. The global agent might use a proxy, which would resolve the name itself.
    agent: false,
    maxHeaderSize: HEADER_LENGTH_MAX,
    insecureHTTPParser: false,
  }
}

function encodeRange({ from, to = Infinity }: { from: number; to?: number }): string {
  return `bytes=${from}-${to === Infinity ? '' : to - 1}`
}

function destroyAfter(req: ClientRequest, timeoutMs: number): NodeJS.Timeout {
  return setTimeout(() => req.destroy(cannotVerify(500, TIMED_OUT)), timeoutMs)
}

/** Copies of whole blobs report an unmet condition as 412 and never as 304 (seen in recorded traffic). */
function checkStatus(
  { statusCode = 0, statusMessage = '', headers }: IncomingMessage,
  isFetched: boolean,
): void {
  if (statusCode === 200 || statusCode === 206) return
  const isUnmet = statusCode === 304 || statusCode === 412
  if (isUnmet && !isFetched) throw new StorageError('SourceConditionNotMet')
  const code = errorCodeOf(headers)
  // Storage services send their error message as the reason phrase.
  const reason = statusMessage.replace(/[^\x20-\x7e]/g, '?').slice(0, REASON_LENGTH_MAX)
  const details = {
    CopySourceStatusCode: String(statusCode),
    ...(code === undefined ? {} : { CopySourceErrorCode: code }),
    ...(reason === '' ? {} : { CopySourceErrorMessage: reason }),
  }
  const message = reason === '' ? `The copy source answered ${statusCode}.` : reason
  if (statusCode >= 500) throw cannotVerify(500, message, details)
  if (statusCode >= 400 || isUnmet) throw cannotVerify(statusCode, message, details)
  if (statusCode < 300) throw unusable(`it answered ${statusCode}`, details)
  throw unusable('it redirects, and redirects are not followed', details)
}

/** The error code of a storage service is one word; anything else must not reach our headers. */
function errorCodeOf(headers: IncomingMessage['headers']): string | undefined {
  const code = optionalHeader(headers, 'x-ms-error-code')
  return code !== undefined && /^\w{1,100}$/.test(code) ? code : undefined
}

function sourceOf(request: SourceRequest, exchange: Exchange): FetchedSource {
  const { req, message } = exchange
  const { headers } = message
  const lengthBytes = bodyLength(request, message)
  const etag = optionalHeader(headers, 'etag')
  const lastModifiedMs = parseHttpDate(optionalHeader(headers, 'last-modified') ?? '')
  // An answer to HEAD ends with its head, so its connection can close at once.
  if (request.method === 'HEAD') message.resume()
  let isRead = request.method === 'HEAD'
  return {
    status: message.statusCode === 206 ? 206 : 200,
    headers,
    lengthBytes,
    ...(etag === undefined ? {} : { etag }),
    ...(lastModifiedMs === undefined ? {} : { lastModifiedMs }),
    contentHeaders: contentHeaders(message),
    metadata: sourceMetadata(message),
    stream() {
      assert(!isRead, 'a source can be read once, and not after HEAD')
      isRead = true
      return bytesOf(request, exchange, lengthBytes)
    },
    close: () => void req.destroy(),
  }
}

const CONTENT_RANGE = /^bytes (\d{1,16})-(\d{1,16})\/(?:\d{1,16}|\*)$/i

/** The length of the answer's body, which must be the requested range. */
function bodyLength({ range }: SourceRequest, { statusCode, headers }: IncomingMessage): number {
  // Node has already refused non-digits, two lengths, and a length with Transfer-Encoding.
  const lengthBytes = Number(headers['content-length'])
  if (!Number.isSafeInteger(lengthBytes)) throw unusable('its answer has no Content-Length')
  if (range === undefined) {
    if (statusCode === 200) return lengthBytes
    throw unusable('it answered with a range that was not requested')
  }
  const [, first, last] = CONTENT_RANGE.exec(headers['content-range'] ?? '') ?? []
  const to = Number(last) + 1
  const isRequested = Number(first) === range.from && to <= (range.to ?? Infinity)
  if (statusCode === 206 && isRequested && to - range.from === lengthBytes) return lengthBytes
  throw unusable('it did not answer with the requested range')
}

const CONTENT_HEADERS = [
  ['contentType', 'content-type'],
  ['contentEncoding', 'content-encoding'],
  ['contentLanguage', 'content-language'],
  ['contentDisposition', 'content-disposition'],
  ['cacheControl', 'cache-control'],
] as const

function contentHeaders({ statusCode, headers }: IncomingMessage): ContentHeaders {
  const decoded: { -readonly [K in keyof ContentHeaders]: ContentHeaders[K] } = {}
  for (const [name, header] of CONTENT_HEADERS) {
    const value = optionalHeader(headers, header)
    if (value !== undefined) decoded[name] = value
  }
  // With a range, Content-MD5 is the range's (Get Blob, response headers).
  const whole = statusCode === 200 ? optionalHeader(headers, 'content-md5') : undefined
  const contentMd5 = optionalHeader(headers, 'x-ms-blob-content-md5') ?? whole
  if (contentMd5 !== undefined && /^[A-Za-z0-9+/]{22}==$/.test(contentMd5)) {
    decoded.contentMd5 = contentMd5
  }
  return decoded
}

function sourceMetadata({ rawHeaders }: IncomingMessage): Metadata {
  try {
    return decodeMetadata(rawHeaders)
  } catch (error) {
    // The source's fault, not the client's.
    if (error instanceof StorageError) throw unusable('its metadata is invalid')
    throw error
  }
}

async function* bytesOf(
  request: SourceRequest,
  { req, message, failure }: Exchange,
  lengthBytes: number,
): AsyncGenerator<Uint8Array> {
  const chunks: AsyncIterable<Buffer> = message
  let leftBytes = lengthBytes
  // Runs only while waiting for the source: a slow reader is not the source's fault.
  let timer = destroyAfter(req, request.idleTimeoutMs)
  try {
    for await (const chunk of chunks) {
      clearTimeout(timer)
      leftBytes -= chunk.length
      yield chunk
      timer = destroyAfter(req, request.idleTimeoutMs)
    }
  } catch (error) {
    throw failureOf(request, failure() ?? error)
  } finally {
    clearTimeout(timer)
    req.destroy()
  }
  // Node reports extra bytes after the end as an error of the request, if they arrived with it.
  const isWhole = message.complete && leftBytes === 0 && failure() === undefined
  if (!isWhole) throw cannotVerify(500, 'The copy source is not as long as its Content-Length.')
}

/** The error to throw for a failure of the connection. */
function failureOf({ signal }: SourceRequest, failure: unknown): unknown {
  if (signal.aborted) return signal.reason
  if (failure instanceof StorageError) return failure
  const code = failure instanceof Error && 'code' in failure ? failure.code : 'no answer'
  return cannotVerify(500, `Could not read the copy source: ${String(code)}.`)
}

function cannotVerify(status: number, message: string, details: ErrorDetails = {}): StorageError {
  return new StorageError('CannotVerifyCopySource', details, message, status)
}

/** A retry would not help, so this is not a 500. */
function unusable(reason: string, details?: ErrorDetails): StorageError {
  return cannotVerify(409, `Could not verify the copy source: ${reason}.`, details)
}

// Messages name only the origin: the rest of the URL may hold a SAS.
function notPermitted({ origin }: URL): StorageError {
  const remedy = `Start this server with --allowCopyFrom ${origin} to permit it.`
  return cannotVerify(403, `Copying from ${origin} is not permitted. ${remedy}`)
}

function notPublic({ origin }: URL): StorageError {
  const remedy = `Only --allowCopyFrom ${origin}, without a wildcard, permits it.`
  return cannotVerify(
    403,
    `Copying from ${origin} is not permitted: its address is not public. ${remedy}`,
  )
}
