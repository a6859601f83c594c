// The admin port: health checks, metrics, the nodes of a cluster, the CA certificate, the API that shows and steers the
// server (api/), the console, a page over that API, and the documentation. Only the API has an authentication; the rest
// reveals nothing about the data and only answers GET and HEAD.
import { randomBytes } from 'node:crypto'
import { isLoopbackAddress } from '../../auth/remote-address.ts'
import type { HostRule } from '../../http/protocol/allowed-host.ts'
import type { Exchange } from '../../http/protocol/exchange.ts'
import { createListener, LISTENER_LIMITS } from '../../http/protocol/listener.ts'
import type { RequestHead } from '../../http/protocol/request-head.ts'
import type { ListedNode } from '../../node/node-list.ts'
import { connectHost, urlOf } from '../host.ts'
import { checkCanListen, listenOrMove } from '../listen.ts'
import type { AccessSettings } from './api/access.ts'
import type { ConsoleHandler } from '../../console/console.ts'
import type { ApiHandler } from './api/handler.ts'
import type { ControlParts } from './api/parts.ts'
import type { Metrics } from './metrics.ts'

const CONNECTIONS_MAX = 256
/** A request may wait for a minute, for a barrier. */
const LIMITS = { ...LISTENER_LIMITS, headersMs: 10_000 }
const HEARTBEAT_MS = 15_000
const TOKEN_BYTES = 24

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
  /** What the API shows and steers. */
  readonly parts: ControlParts
  readonly access: Omit<AccessSettings, 'generatedToken'>
  readonly heartbeatMs?: number
  readonly identity?: AdminIdentity
  /** Called for internal errors. */
  readonly report: (message: string, error: unknown) => void
}

/** Tells the servers of a machine apart, for `lazuli health`. */
export type AdminIdentity = {
  readonly id: string
  readonly data: 'folder' | 'memory' | 'database'
}

export const ID_HEADER = 'x-lazuli-server'
export const DATA_HEADER = 'x-lazuli-data'

export type Admin = {
  readonly url: string
  /** The token that was made for this run, if the API needs it. */
  readonly generatedToken: string | undefined
  close(): Promise<void>
}

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
  const { control, token, guardsKeys = false } = settings.access
  const generatedToken =
    token === undefined && (guardsKeys || control === true)
      ? randomBytes(TOKEN_BYTES).toString('base64url')
      : undefined
  const pages: Pages = { api: lazyApi(settings, generatedToken), console: lazyConsole() }
  const handler = {
    handle: (exchange: Exchange) => answer(settings, pages, exchange),
    logFault: (error: unknown) => settings.report('admin request failed', error),
  }
  const { server, abort } = createListener(handler, LIMITS, undefined)
  server.maxConnections = CONNECTIONS_MAX
  const place = { ...ADMIN_PORT, ...settings }
  const { port, address } = await listenOrMove(server, place, settings.portMayMove)
  return {
    url: urlOf('http', connectHost(settings.host), port),
    generatedToken: isLoopbackAddress(address) && !guardsKeys ? undefined : generatedToken,
    close: abort,
  }
}

/** Loaded on demand: few servers get such a request. */
function lazyApi(settings: AdminSettings, generatedToken: string | undefined): ApiHandler {
  const { parts, access, heartbeatMs = HEARTBEAT_MS, report } = settings
  let loading: Promise<ApiHandler> | undefined
  return async (exchange) => {
    loading ??= import('./api/handler.ts').then(({ apiHandler }) =>
      apiHandler({ parts, access: { ...access, generatedToken }, heartbeatMs, report }),
    )
    await (
      await loading
    )(exchange)
  }
}

/** Loaded on demand, too: it adds nothing to the start of a server. */
function lazyConsole(): ConsoleHandler {
  let loading: Promise<ConsoleHandler> | undefined
  return async (exchange) => {
    loading ??= import('../../console/console.ts').then(({ consoleHandler }) => consoleHandler())
    await (
      await loading
    )(exchange)
  }
}

type AdminPlace = Pick<AdminSettings, 'host' | 'port' | 'portMayMove'>

/** Checks an explicitly given port before anything else is started. */
export async function checkAdminPort({ host, port, portMayMove }: AdminPlace): Promise<void> {
  if (!portMayMove) await checkCanListen({ ...ADMIN_PORT, host, port })
}

const ADMIN_PORT = { what: 'the admin port', flag: '--adminPort' }

type Pages = { readonly api: ApiHandler; readonly console: ConsoleHandler }

const CONSOLE_PATH = /^\/(?:$|console\/|docs(?:$|\/))/

async function answer(settings: AdminSettings, pages: Pages, exchange: Exchange): Promise<void> {
  const { headers, target } = exchange.head
  const path = pathOf(target)
  if (settings.acceptsHost(headers.host) && !ROUTES.has(path)) {
    if (path.startsWith('/api/')) return pages.api(exchange)
    if (CONSOLE_PATH.test(path)) return pages.console(exchange)
  }
  await answerPlainly(settings, exchange)
}

async function answerPlainly(settings: AdminSettings, exchange: Exchange): Promise<void> {
  const { status, contentType, text } = await answerOf(settings, exchange.head)
  const bytes = Buffer.from(text)
  const headers = ['Content-Type', contentType, 'Content-Length', String(bytes.length)]
  headers.push('Cache-Control', 'no-store')
  if (settings.identity !== undefined)
    headers.push(ID_HEADER, settings.identity.id, DATA_HEADER, settings.identity.data)
  if (exchange.head.method === 'HEAD') exchange.answer(status, [headers])
  else exchange.answer(status, [headers], bytes)
}

async function answerOf(settings: AdminSettings, request: RequestHead): Promise<Answer> {
  if (!settings.acceptsHost(request.headers.host)) {
    return plain(400, 'This host name is not allowed. Add it to --allowedHosts.')
  }
  const path = pathOf(request.target)
  const route = ROUTES.get(path)
  if (route === undefined)
    return plain(
      404,
      `Not found. Available: / /docs/ ${[...ROUTES.keys()].join(' ')} /api/openapi.json`,
    )
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return plain(405, 'Only GET and HEAD are allowed.')
  try {
    return await route(settings)
  } catch (error) {
    settings.report(`admin request ${path} failed`, error)
    return plain(500, 'Internal error.')
  }
}

function pathOf(target: string): string {
  return target.split('?', 1)[0] ?? ''
}
