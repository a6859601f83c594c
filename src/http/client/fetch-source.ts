// Reads the source of a copy from another server: one request, one connection of its own, no redirects.
// Addresses are checked where the connection is made, so a name that leads somewhere else the second
// time it is asked (DNS rebinding) gains nothing. What fails is CannotVerifyCopySource, with the
// source's own status where it gave one (Copy Blob, remarks).
import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import type { ContentHeaders } from '../../storage/shared/content-headers.ts'
import { StorageError, type ErrorDetails } from '../../storage/shared/error.ts'
import type { Metadata } from '../../storage/shared/metadata.ts'
import { isPermitted, isPublicAddress, type CopyPattern } from './copy-source.ts'
import { parseHttpDate } from '../protocol/date.ts'
import { decodeMetadata, optionalHeader, type HeaderFields } from '../protocol/header.ts'
import { nodeHttp, nodeHttps } from '../protocol/node-modules.ts'

export type SourceRequest = {
  readonly url: URL
  readonly method: 'GET' | 'HEAD'
  /** Conditions, Authorization, x-ms-version: whatever the source is to see. */
  readonly headers: Readonly<Record<string, string>>
  /** From the byte `from` to before the byte `to`, or to the end. Only for GET. */
  readonly range?: { readonly from: number; readonly to?: number }
  /** An unmet condition keeps the status of the source; otherwise it is SourceConditionNotMet. */
  readonly isFetched?: boolean
  readonly patterns: readonly CopyPattern[]
  /** Ends it at any time; what is thrown is the signal's reason. */
  readonly signal: AbortSignal
  /** For finding the address, the connection and TLS together. */
  readonly connectTimeoutMs: number
  /** For the whole header of the answer, and for each wait for more of its body. */
  readonly idleTimeoutMs: number
  readonly resolve?: Resolve
}

/** The addresses of a host. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

/** An answer of 200 or 206. It holds a connection until its stream has ended or it is closed. */
export type Source = {
  readonly status: 200 | 206
  readonly headers: HeaderFields
  /** Of the body; for HEAD of the body that GET would have. */
  readonly lengthBytes: number
  readonly etag?: string
  readonly lastModifiedMs?: number
  /** Content-MD5 is the whole blob's, so from a range it is there only if the source tells it. */
  readonly contentHeaders: ContentHeaders
  readonly metadata: Metadata
  /** The body, once: exactly `lengthBytes` bytes, or it throws. */
  stream(): AsyncIterable<Uint8Array>
  /** Lets go of the connection; may be called at any time and again. */
  close(): void
}

/** Metadata are at most 8 KiB, a SAS is not echoed: what is longer is no storage service. */
const HEADER_LENGTH_MAX = 32 * 1024
const REASON_LENGTH_MAX = 256
const TIMED_OUT = 'Could not verify the copy source within the specified time.'

export async function fetchSource(request: SourceRequest): Promise<Source> {
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

/** Where to connect to, if the patterns permit it. */
function connectGuard({ url, patterns, resolve = resolveAll }: SourceRequest): ConnectGuard {
  const permission = isPermitted(patterns, url)
  if (permission === 'refused') throw notPermitted(url)
  const isUsable = (ip: string): boolean => permission === 'any address' || isPublicAddress(ip)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // An address is connected to without a lookup.
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
  /** What has gone wrong since the header of the answer. */
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
    // Always the last event, also where there was neither an answer nor an error (101, Upgrade).
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
      // A Content-Encoding in the answer is then the blob's own property: its bytes are stored so.
      'accept-encoding': 'identity',
      ...(range === undefined ? {} : { range: encodeRange(range) }),
    },
    lookup,
    signal,
    // A connection of its own. The global agent might send the request through a proxy, which would
    // look up the name by itself.
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

/** Copies of whole blobs tell an unmet condition as 412 and never as 304 (seen in recorded traffic). */
function checkStatus(
  { statusCode = 0, statusMessage = '', headers }: IncomingMessage,
  isFetched: boolean,
): void {
  if (statusCode === 200 || statusCode === 206) return
  const isUnmet = statusCode === 304 || statusCode === 412
  if (isUnmet && !isFetched) throw new StorageError('SourceConditionNotMet')
  const code = errorCodeOf(headers)
  // Storage services have their message as reason phrase.
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

/** The code of a storage service is a word; anything else is no code, and must not reach our headers. */
function errorCodeOf(headers: IncomingMessage['headers']): string | undefined {
  const code = optionalHeader(headers, 'x-ms-error-code')
  return code !== undefined && /^\w{1,100}$/.test(code) ? code : undefined
}

function sourceOf(request: SourceRequest, exchange: Exchange): Source {
  const { req, message } = exchange
  const { headers } = message
  const lengthBytes = bodyLength(request, message)
  const etag = optionalHeader(headers, 'etag')
  const lastModifiedMs = parseHttpDate(optionalHeader(headers, 'last-modified') ?? '')
  // An answer to HEAD ends with its header: its connection need not wait for anybody.
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
      assert(!isRead, 'a source is read once, and not after HEAD')
      isRead = true
      return bytesOf(request, exchange, lengthBytes)
    },
    close: () => void req.destroy(),
  }
}

const CONTENT_RANGE = /^bytes (\d{1,16})-(\d{1,16})\/(?:\d{1,16}|\*)$/i

/** What the answer says it holds, which must be what was asked for. */
function bodyLength({ range }: SourceRequest, { statusCode, headers }: IncomingMessage): number {
  // Node has refused anything but digits, two lengths, and a length beside Transfer-Encoding.
  const lengthBytes = Number(headers['content-length'])
  if (!Number.isSafeInteger(lengthBytes)) throw unusable('its answer has no Content-Length')
  if (range === undefined) {
    if (statusCode === 200) return lengthBytes
    throw unusable('it answered with a range, and none was asked for')
  }
  const [, first, last] = CONTENT_RANGE.exec(headers['content-range'] ?? '') ?? []
  const to = Number(last) + 1
  const isAsked = Number(first) === range.from && to <= (range.to ?? Infinity)
  if (statusCode === 206 && isAsked && to - range.from === lengthBytes) return lengthBytes
  throw unusable('it did not answer with the range that was asked for')
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
    // It is the source's fault, not the client's.
    if (error instanceof StorageError) throw unusable('its metadata are invalid')
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
  // Runs only while the source is waited for: a reader that is slow is no fault of the source.
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
  // Bytes behind the end, as far as they came with it, are an error of the request.
  const isWhole = message.complete && leftBytes === 0 && failure() === undefined
  if (!isWhole) throw cannotVerify(500, 'The copy source is not as long as its Content-Length.')
}

/** What to throw for what went wrong on the connection. */
function failureOf({ signal }: SourceRequest, failure: unknown): unknown {
  if (signal.aborted) return signal.reason
  if (failure instanceof StorageError) return failure
  const code = failure instanceof Error && 'code' in failure ? failure.code : 'no answer'
  return cannotVerify(500, `Could not read the copy source: ${String(code)}.`)
}

function cannotVerify(status: number, message: string, details: ErrorDetails = {}): StorageError {
  return new StorageError('CannotVerifyCopySource', details, message, status)
}

/** Nothing that would be otherwise if it were tried again, so no 500. */
function unusable(reason: string, details?: ErrorDetails): StorageError {
  return cannotVerify(409, `Could not verify the copy source: ${reason}.`, details)
}

// Only the origin is named: the rest may hold a SAS.
function notPermitted({ origin }: URL): StorageError {
  const cure = `Start this server with --allowCopyFrom ${origin} to permit it.`
  return cannotVerify(403, `Copying from ${origin} is not permitted. ${cure}`)
}

function notPublic({ origin }: URL): StorageError {
  const cure = `Only --allowCopyFrom ${origin}, without a wildcard, permits it.`
  return cannotVerify(
    403,
    `Copying from ${origin} is not permitted: its address is not public. ${cure}`,
  )
}
