// Shared by all tests of whole servers: a server on a free port whose clock the test controls, and raw requests.
// The Shared Key signer is written from the public description of the scheme, not from src/auth, so that a mistake
// in one of them shows.
import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type LazuliServer, type ServerOptions } from '../src/server.ts'

export const ACCOUNT = 'devstoreaccount1'
/** The well-known key of the development account; public by design. */
export const ACCOUNT_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export const API_VERSION = '2025-11-05'

export const DAY_MS = 24 * 60 * 60 * 1_000

export type TestServer = LazuliServer & {
  /** The data folder, if the server has one. */
  readonly folder: string | undefined
  /** The server's time. Only `advance` moves it, unless the test passed a `clock`. */
  now(): number
  advance(byMs: number): void
}

export type TestServerOptions = Omit<ServerOptions, 'clock'> & {
  readonly clock?: () => number
  /** Stores the data in a new folder, which `close` removes. */
  readonly onDisk?: boolean
}

type StartServer = typeof startServer

let start: StartServer = startServer

/** For tests that run again with something else in place of a server. */
export function setServer(other: StartServer): void {
  start = other
}

/** Starts a server whose clock stands still until the test advances it. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { onDisk = false, ...serverOptions } = options
  let heldMs = Date.now()
  const clock = serverOptions.clock ?? (() => heldMs)
  const folder = onDisk ? await mkdtemp(join(tmpdir(), 'lazuli-test-')) : serverOptions.location
  const location = folder === undefined ? {} : { location: folder }
  const server = await start({ ...serverOptions, ...location, clock })
  return {
    ...server,
    folder,
    now: clock,
    advance: (byMs) => {
      heldMs += byMs
    },
    close: async () => {
      await server.close()
      if (onDisk && folder !== undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

export type Headers = Readonly<Record<string, string | readonly string[]>>

export type RawRequest = {
  readonly method: string
  /** The part of the URL after the account, already percent-encoded: `/container/blob?comp=metadata`. */
  readonly path: string
  readonly headers?: Headers
  readonly body?: string | Uint8Array
  /** Shared Key (the default), no credentials, or the query string of a SAS. */
  readonly sign?: 'sharedKey' | 'none' | (string & {})
  /** By default ACCOUNT. Its key is the well-known one, too. */
  readonly account?: string
  /** Sends the path unchanged instead of putting the account in front of it. */
  readonly wholePath?: boolean
}

export type RawResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly text: string
}

/** Sends one request and returns the whole response. */
export function rawRequest(
  server: Pick<LazuliServer, 'blobPort'>,
  request: RawRequest,
): Promise<RawResponse> {
  const wire = wireRequest(request)
  const options = {
    host: '127.0.0.1',
    port: server.blobPort,
    method: request.method,
    path: wire.path,
    headers: wire.headers,
  }
  return exchange(httpRequest(options), request.body)
}

/** Sends the body and reads the response to its end. */
export function exchange(req: ClientRequest, sent?: string | Uint8Array): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    req.on('response', (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const body = Buffer.concat(chunks)
        const status = res.statusCode ?? 0
        resolve({ status, headers: res.headers, body, text: body.toString('utf8') })
      })
    })
    req.on('error', reject)
    req.end(sent)
  })
}

export type Send = (
  method: string,
  path: string,
  headers?: Headers,
  body?: string | Uint8Array,
  sign?: string,
) => Promise<RawResponse>

/** `rawRequest` with positional arguments, for one port. */
export function sendTo(port: number): Send {
  return (method, path, headers = {}, body, sign = 'sharedKey') => {
    const request = { method, path, headers, sign, ...(body !== undefined && { body }) }
    return rawRequest({ blobPort: port }, request)
  }
}

/** Set Service Properties, with these elements. */
export async function setServiceProperties(send: Send, elements: string): Promise<void> {
  const body = `<StorageServiceProperties>${elements}</StorageServiceProperties>`
  const answer = await send('PUT', '/?restype=service&comp=properties', {}, body)
  assert.equal(answer.status, 202, answer.text)
}

/** The status, and the error code if there is one: `204`, `404 QueueNotFound`. */
export function outcome({ status, headers }: RawResponse): string {
  return [status, headers['x-ms-error-code']].filter(Boolean).join(' ')
}

/** Asserts that the service refuses a request with this status and this code, in the header and in the body. */
export async function assertRefused(
  sent: RawResponse | Promise<RawResponse>,
  status: number,
  code: string,
): Promise<void> {
  const answer = await sent
  assert.equal(outcome(answer), `${status} ${code}`, answer.text)
  if (answer.text === '') return
  assert.equal(xmlText(answer.text, 'Code'), code)
  assert.match(answer.text, /RequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT[\d:.]{16}Z/)
  assert.equal(answer.headers['content-type'], 'application/xml')
}

/** The MD5 of the bytes as Content-MD5 carries it. */
export function md5Of(bytes: string | Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64')
}

export type WireRequest = {
  readonly path: string
  readonly headers: Record<string, string | string[]>
}

/** The path and the signed headers as they go over the wire; also for tests that write to a bare socket. */
export function wireRequest(request: RawRequest): WireRequest {
  const { sign = 'sharedKey', account = ACCOUNT } = request
  let path = request.wholePath === true ? request.path : `/${account}${request.path}`
  const headers = lowerCased(request.headers ?? {})
  headers['x-ms-version'] ??= API_VERSION
  if (headers.date === undefined) headers['x-ms-date'] ??= new Date().toUTCString()
  const lengthBytes = request.body === undefined ? 0 : Buffer.byteLength(request.body)
  const sendsBody = request.method !== 'GET' && request.method !== 'HEAD'
  if (sendsBody && headers['transfer-encoding'] === undefined) {
    headers['content-length'] ??= String(lengthBytes)
  }
  if (sign === 'sharedKey')
    headers.authorization = sharedKey(account, request.method, path, headers)
  else if (sign !== 'none') path += (path.includes('?') ? '&' : '?') + sign.replace(/^\?/, '')
  return { path, headers }
}

function lowerCased(headers: Headers): Record<string, string | string[]> {
  const lower: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    lower[name.toLowerCase()] = typeof value === 'string' ? value : [...value]
  }
  return lower
}

const SIGNED_HEADERS = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
]

/** https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key */
function sharedKey(
  account: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string | string[]>>,
): string {
  const text = (name: string): string => {
    const value = headers[name]
    return value === undefined ? '' : typeof value === 'string' ? value : value.join(', ')
  }
  const standard = SIGNED_HEADERS.map((name) => {
    if (name === 'content-length' && text(name) === '0') return ''
    if (name === 'date' && headers['x-ms-date'] !== undefined) return ''
    return text(name)
  })
  const canonicalHeaders = Object.keys(headers)
    .filter((name) => name.startsWith('x-ms-'))
    .toSorted()
    .map((name) => `${name}:${text(name).trim().replace(/\s+/g, ' ')}\n`)
    .join('')
  const stringToSign = `${[method, ...standard].join('\n')}\n${canonicalHeaders}${canonicalResource(account, path)}`
  const hmac = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64'))
  return `SharedKey ${account}:${hmac.update(stringToSign, 'utf8').digest('base64')}`
}

function canonicalResource(account: string, path: string): string {
  const [pathname = '', query = ''] = path.split(/\?(.*)/s)
  const values = new Map<string, string[]>()
  for (const part of query.split('&')) {
    if (part === '') continue
    const [name = '', value = ''] = part.split(/=(.*)/s)
    const key = decodeURIComponent(name).toLowerCase()
    values.set(key, [...(values.get(key) ?? []), decodeURIComponent(value)])
  }
  const lines = [...values.keys()]
    .toSorted()
    .map((name) => `\n${name}:${(values.get(name) ?? []).toSorted().join(',')}`)
  return `/${account}${pathname}${lines.join('')}`
}

/** The text between the first `<name>` and `</name>`, or undefined. */
export function xmlText(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`).exec(xml)?.[1]
}

/** The texts of every `<name>…</name>`, in order. */
export function xmlTexts(xml: string, name: string): string[] {
  const pattern = new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`, 'g')
  return [...xml.matchAll(pattern)].map((match) => match[1] ?? '')
}
