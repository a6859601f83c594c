// The admin port: whether the server lives and is ready, what it counts, and the CA to trust. It asks
// for no authentication and so listens on loopback by default, tells nothing of the data, and only
// ever answers GET and HEAD.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { http } from '../http/node-http.ts'
import { urlOf } from './host.ts'
import { checkCanListen, listenOrMove } from './listen.ts'
import type { Metrics } from './metrics.ts'

const CONNECTIONS_MAX = 256
const REQUEST_TIMEOUT_MS = 10_000

export type AdminSettings = {
  readonly host: string
  readonly port: number
  /** The port was not asked for: if it is taken, any other will do. */
  readonly portMayMove: boolean
  /** False while starting and stopping. */
  readonly ready: () => boolean
  readonly metrics: Pick<Metrics, 'expose'>
  /** The CA of `--https auto`. */
  readonly caPem: string | undefined
  /** Told of our own mistakes. */
  readonly report: (message: string, error: unknown) => void
}

export type Admin = { readonly url: string; close(): Promise<void> }

type Answer = { readonly status: number; readonly contentType: string; readonly text: string }

type Route = (settings: AdminSettings) => Answer | Promise<Answer>

const TEXT = 'text/plain; charset=utf-8'

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/health/live', () => plain(200, 'live')],
  ['/health/ready', ({ ready }) => (ready() ? plain(200, 'ready') : plain(503, 'not ready'))],
  ['/metrics', async ({ metrics }) => ({ status: 200, ...(await metrics.expose()) })],
  ['/ca.pem', ({ caPem }) => caAnswer(caPem)],
])

function plain(status: number, text: string): Answer {
  return { status, contentType: TEXT, text: `${text}\n` }
}

function caAnswer(caPem: string | undefined): Answer {
  if (caPem === undefined) return plain(404, 'there is no CA: not started with --https auto')
  return { status: 200, contentType: 'application/x-pem-file', text: caPem }
}

export async function startAdmin(settings: AdminSettings): Promise<Admin> {
  const server = http.createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void answer(settings, request, response)
  })
  server.maxConnections = CONNECTIONS_MAX
  server.on('clientError', refuse)
  const place = { ...ADMIN_PORT, ...settings }
  const { port } = await listenOrMove(server, place, settings.portMayMove)
  return { url: urlOf('http', settings.host, port), close: () => closeServer(server) }
}

type AdminPlace = Pick<AdminSettings, 'host' | 'port' | 'portMayMove'>

/** Before anything else is started: a port that was asked for and is taken. */
export async function checkAdminPort({ host, port, portMayMove }: AdminPlace): Promise<void> {
  if (!portMayMove) await checkCanListen({ ...ADMIN_PORT, host, port })
}

const ADMIN_PORT = { what: 'the admin port', flag: '--adminPort' }

async function answer(
  settings: AdminSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', () => response.destroy())
  request.resume()
  const { status, contentType, text } = await answerOf(settings, request)
  const headers = { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(text) }
  response.writeHead(status, { ...headers, 'Cache-Control': 'no-store' })
  response.end(request.method === 'HEAD' ? undefined : text)
}

async function answerOf(settings: AdminSettings, request: IncomingMessage): Promise<Answer> {
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  const route = ROUTES.get(path)
  if (route === undefined) return plain(404, `there is: ${[...ROUTES.keys()].join(' ')}`)
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'only GET and HEAD')
  try {
    return await route(settings)
  } catch (error) {
    settings.report(`admin request ${path} failed`, error)
    return plain(500, 'internal error')
  }
}

/** Bytes that are no HTTP, or a client that is gone. */
function refuse(_error: Error, socket: Duplex): void {
  if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
  else socket.destroy()
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
