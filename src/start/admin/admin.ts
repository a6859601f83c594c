// The admin port: whether the server lives and is ready, what it counts, and the CA to trust. It asks
// for no authentication and so listens on loopback by default, tells nothing of the data, and only
// ever answers GET and HEAD.
import type { HostRule } from '../../http/protocol/allowed-host.ts'
import type { Exchange } from '../../http/protocol/exchange.ts'
import { createListener, LISTENER_LIMITS } from '../../http/protocol/listener.ts'
import type { RequestHead } from '../../http/protocol/request-head.ts'
import { urlOf } from '../host.ts'
import { checkCanListen, listenOrMove } from '../listen.ts'
import type { Metrics } from './metrics.ts'

const CONNECTIONS_MAX = 256
const LIMITS = { ...LISTENER_LIMITS, headersMs: 10_000, silenceMs: 10_000 }

export type AdminSettings = {
  readonly host: string
  readonly port: number
  /** The port was not asked for: if it is taken, any other will do. */
  readonly portMayMove: boolean
  /** Asked wherever it listens: nothing but the name keeps a web page from reading it. */
  readonly acceptsHost: HostRule
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
  const handler = {
    handle: (exchange: Exchange) => answer(settings, exchange),
    logFault: (error: unknown) => settings.report('admin request failed', error),
  }
  const { server, abort } = createListener(handler, LIMITS, undefined)
  server.maxConnections = CONNECTIONS_MAX
  const place = { ...ADMIN_PORT, ...settings }
  const { port } = await listenOrMove(server, place, settings.portMayMove)
  return { url: urlOf('http', settings.host, port), close: abort }
}

type AdminPlace = Pick<AdminSettings, 'host' | 'port' | 'portMayMove'>

/** Before anything else is started: a port that was asked for and is taken. */
export async function checkAdminPort({ host, port, portMayMove }: AdminPlace): Promise<void> {
  if (!portMayMove) await checkCanListen({ ...ADMIN_PORT, host, port })
}

const ADMIN_PORT = { what: 'the admin port', flag: '--adminPort' }

async function answer(settings: AdminSettings, exchange: Exchange): Promise<void> {
  const { status, contentType, text } = await answerOf(settings, exchange.head)
  const bytes = Buffer.from(text)
  const headers = ['Content-Type', contentType, 'Content-Length', String(bytes.length)]
  headers.push('Cache-Control', 'no-store')
  if (exchange.head.method === 'HEAD') exchange.answer(status, [headers])
  else exchange.answer(status, [headers], bytes)
}

async function answerOf(settings: AdminSettings, request: RequestHead): Promise<Answer> {
  if (!settings.acceptsHost(request.headers.host)) {
    return plain(400, 'this host name is not accepted; start the server with --allowedHosts')
  }
  const path = request.target.split('?', 1)[0] ?? ''
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
