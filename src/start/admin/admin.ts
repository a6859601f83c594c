// The admin port: health checks, metrics, the nodes of a cluster and the CA certificate. It has no authentication, so it listens on loopback by
// default, reveals nothing about the data, and only answers GET and HEAD.
import type { HostRule } from '../../http/protocol/allowed-host.ts'
import type { Exchange } from '../../http/protocol/exchange.ts'
import { createListener, LISTENER_LIMITS } from '../../http/protocol/listener.ts'
import type { RequestHead } from '../../http/protocol/request-head.ts'
import type { ListedNode } from '../../node/node-list.ts'
import { urlOf } from '../host.ts'
import { checkCanListen, listenOrMove } from '../listen.ts'
import type { Metrics } from './metrics.ts'

const CONNECTIONS_MAX = 256
const LIMITS = { ...LISTENER_LIMITS, headersMs: 10_000, silenceMs: 10_000 }

export type AdminSettings = {
  readonly host: string
  readonly port: number
  /** The port is only a default: if it is in use, any free one will do. */
  readonly portMayMove: boolean
  /** Checked on every address: only the host name keeps web pages from reading this port. */
  readonly acceptsHost: HostRule
  /** False during start and shutdown. */
  readonly ready: () => boolean
  readonly metrics: Pick<Metrics, 'expose'>
  /** The nodes of the cluster, as of the last heartbeat; none if this server is not a node. */
  readonly nodes: () => readonly ListedNode[]
  /** The CA of `--https auto`. */
  readonly caPem: string | undefined
  /** Called for internal errors. */
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
  ['/api/nodes', ({ nodes }) => json({ nodes: nodes() })],
  ['/ca.pem', ({ caPem }) => caAnswer(caPem)],
])

function plain(status: number, text: string): Answer {
  return { status, contentType: TEXT, text: `${text}\n` }
}

function json(value: object): Answer {
  return { status: 200, contentType: 'application/json', text: `${JSON.stringify(value)}\n` }
}

function caAnswer(caPem: string | undefined): Answer {
  if (caPem === undefined)
    return plain(404, 'There is no CA: the server was started without --https auto.')
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

/** Checks an explicitly given port before anything else is started. */
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
    return plain(400, 'This host name is not allowed. Add it to --allowedHosts.')
  }
  const path = request.target.split('?', 1)[0] ?? ''
  const route = ROUTES.get(path)
  if (route === undefined)
    return plain(404, `Not found. Available: ${[...ROUTES.keys()].join(' ')}`)
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return plain(405, 'Only GET and HEAD are allowed.')
  try {
    return await route(settings)
  } catch (error) {
    settings.report(`admin request ${path} failed`, error)
    return plain(500, 'Internal error.')
  }
}
