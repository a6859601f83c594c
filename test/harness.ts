// What the tests of whole servers share: a server on a free port with a clock the test holds, and raw
// requests as a client of another make would send them. The Shared Key signer here is written from the
// public description of the scheme, not from src/auth, so that the two can disagree.
import { createHmac } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer, type LazuliServer, type ServerOptions } from '../src/server.ts'

export const ACCOUNT = 'devstoreaccount1'
/** The well-known key of the development account; public by design. */
export const ACCOUNT_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export const API_VERSION = '2025-11-05'

export type TestServer = LazuliServer & {
  /** The folder of the data, for a server that has one. */
  readonly folder: string | undefined
  /** The time that the server sees. It moves only when a test moves it, unless `clock` was given. */
  now(): number
  advance(byMs: number): void
}

export type TestServerOptions = ServerOptions & {
  /** true: in a fresh folder, removed when the server closes. */
  readonly onDisk?: boolean
}

/** Starts a server whose clock stands still until the test advances it. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { onDisk = false, ...given } = options
  let heldMs = Date.now()
  const clock = given.clock ?? (() => heldMs)
  const folder = onDisk ? await mkdtemp(join(tmpdir(), 'lazuli-test-')) : given.location
  const location = folder === undefined ? {} : { location: folder }
  const server = await startServer({ ...given, ...location, clock })
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

export type RawRequest = {
  readonly method: string
  /** What follows the account in the URL, percent-encoded by the test: `/container/blob?comp=metadata`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** Shared Key (the default), nothing at all, or the query string of a SAS. */
  readonly sign?: 'sharedKey' | 'none' | (string & {})
  /** Left out, the path begins with the account; given, it is sent as it is. */
  readonly wholePath?: boolean
}

export type RawResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly text: string
}

/** One request, sent as it stands and answered with everything that came back. */
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
  return new Promise((resolve, reject) => {
    const req = httpRequest(options, (res) => {
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
    req.end(request.body)
  })
}

/** Status and error code in one text: `404 QueueNotFound`, or `204` of what went well. */
export function outcome({ status, headers }: RawResponse): string {
  return [status, headers['x-ms-error-code']].filter(Boolean).join(' ')
}

export type WireRequest = {
  readonly path: string
  readonly headers: Record<string, string | string[]>
}

/** Path and headers as they go over the wire, signed; also for tests that write to a bare socket. */
export function wireRequest(request: RawRequest): WireRequest {
  const sign = request.sign ?? 'sharedKey'
  let path = request.wholePath === true ? request.path : `/${ACCOUNT}${request.path}`
  const headers = lowerCased(request.headers ?? {})
  headers['x-ms-version'] ??= API_VERSION
  if (headers.date === undefined) headers['x-ms-date'] ??= new Date().toUTCString()
  const lengthBytes = request.body === undefined ? 0 : Buffer.byteLength(request.body)
  const sendsBody = request.method !== 'GET' && request.method !== 'HEAD'
  if (sendsBody && headers['transfer-encoding'] === undefined) {
    headers['content-length'] ??= String(lengthBytes)
  }
  if (sign === 'sharedKey') headers.authorization = sharedKey(request.method, path, headers)
  else if (sign !== 'none') path += (path.includes('?') ? '&' : '?') + sign.replace(/^\?/, '')
  return { path, headers }
}

function lowerCased(
  headers: Readonly<Record<string, string | readonly string[]>>,
): Record<string, string | string[]> {
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
  const stringToSign = `${[method, ...standard].join('\n')}\n${canonicalHeaders}${canonicalResource(path)}`
  const hmac = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64'))
  return `SharedKey ${ACCOUNT}:${hmac.update(stringToSign, 'utf8').digest('base64')}`
}

function canonicalResource(path: string): string {
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
  return `/${ACCOUNT}${pathname}${lines.join('')}`
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
