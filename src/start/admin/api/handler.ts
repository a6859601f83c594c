// Answers requests below /api/: finds the row of the table, checks who asks, decodes, runs, and encodes as JSON.
import { ClientGone } from '../../../http/protocol/body.ts'
import type { Exchange } from '../../../http/protocol/exchange.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { VERSION } from '../../version.ts'
import { checkAccess, type AccessSettings } from './access.ts'
import { openApiOf } from './openapi.ts'
import type { ControlParts } from './parts.ts'
import { ApiError, type RawCall, type ApiRoute } from './route.ts'
import { routesOf } from './routes.ts'

export type ApiSettings = {
  readonly parts: ControlParts
  readonly access: AccessSettings
  /** How often a quiet stream gets a sign of life. */
  readonly heartbeatMs: number
  /** Called for internal errors. */
  readonly report: (message: string, error: unknown) => void
}

export type ApiHandler = (exchange: Exchange) => Promise<void>

const BODY_BYTES_MAX = 1024 * 1024
const BODY_MS_MAX = 10_000

type Found = {
  readonly routes: readonly ApiRoute[]
  readonly params: Readonly<Record<string, string>>
}

export function apiHandler(settings: ApiSettings): ApiHandler {
  const routes = routesOf(settings.parts, settings)
  const byPath = new Map<string, ApiRoute[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  return async (exchange) => {
    try {
      await handle(settings, byPath, routes, exchange)
    } catch (error) {
      if (error instanceof ClientGone || exchange.gone) exchange.drop()
      else answerError(settings, exchange, error)
    }
  }
}

async function handle(
  { access }: ApiSettings,
  byPath: ReadonlyMap<string, readonly ApiRoute[]>,
  all: readonly ApiRoute[],
  exchange: Exchange,
): Promise<void> {
  const { method, target } = exchange.head
  const url = new URLSearchParams(target.includes('?') ? target.slice(target.indexOf('?') + 1) : '')
  const path = (target.split('?', 1)[0] ?? '').replace(/^\/api\//, '')
  // It says nothing about the data.
  if (path === 'openapi.json' && isReading(method))
    return answerJson(exchange, 200, openApiOf(all, VERSION))
  const isChange = !isReading(method) && method !== 'OPTIONS'
  exchange.admit(checkAccess(access, exchange, isChange))
  const { routes, params } = find(byPath, path)
  const allow = ['Allow', allowed(routes)]
  if (method === 'OPTIONS') return exchange.answer(204, [allow])
  const route = routes.find((each) => each.method === (method === 'HEAD' ? 'GET' : method))
  if (route === undefined)
    throw new ApiError(405, `/api/${path} has the methods ${allowed(routes)}`, allow)
  if (!isChange && route.isChange?.(exchange) === true) checkAccess(access, exchange, true)
  if (route.streams === 'events' && method === 'HEAD') return exchange.answer(200, [])
  const body = method === 'POST' && route.body !== undefined ? await readJson(exchange) : undefined
  const call: RawCall = { params, query: url, body }
  const value = await route.run(call, exchange)
  if (route.answer !== undefined) answerJson(exchange, route.status, value)
}

function isReading(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function allowed(routes: readonly ApiRoute[]): string {
  const methods = routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return [...methods, 'OPTIONS'].join(', ')
}

function find(byPath: ReadonlyMap<string, readonly ApiRoute[]>, path: string): Found {
  const segments = path.split('/').map(decodeSegment)
  for (const [pattern, routes] of byPath) {
    const isTree = routes[0]?.streams === 'content'
    const params = paramsOf(pattern.split('/'), isTree ? joined(pattern, segments) : segments)
    if (params !== undefined) return { routes, params }
  }
  throw new ApiError(404, `there is no /api/${path.slice(0, 100)}; see /api/openapi.json`)
}

/** The last name of the pattern stands for the rest of the path, even if there is none. */
function joined(pattern: string, segments: readonly string[]): readonly string[] {
  const count = pattern.split('/').length - 1
  if (segments.length < count) return segments
  return [...segments.slice(0, count), `/${segments.slice(count).join('/')}`]
}

function paramsOf(pattern: readonly string[], segments: readonly string[]) {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, part] of pattern.entries()) {
    const segment = segments[at] ?? ''
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined ? part !== segment : segment === '') return undefined
    if (name !== undefined) params[name] = segment
  }
  return params
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ApiError(400, 'the path is not valid percent-encoded UTF-8')
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

/** An empty body counts as an empty object. A form of another web page can't send this type. */
async function readJson(exchange: Exchange): Promise<unknown> {
  const { head, body } = exchange
  if (!/^application\/json\s*(;|$)/i.test(head.headers['content-type'] ?? ''))
    throw new ApiError(415, 'a POST needs the header Content-Type: application/json')
  if (head.chunked) throw new ApiError(411, 'a POST needs the header Content-Length')
  if ((head.lengthBytes ?? 0) > BODY_BYTES_MAX)
    throw new ApiError(413, `the body is longer than ${BODY_BYTES_MAX} bytes`)
  const timer = setTimeout(() => exchange.drop(), BODY_MS_MAX)
  const bytes = await body.read(BODY_BYTES_MAX).finally(() => clearTimeout(timer))
  try {
    return bytes.length === 0 ? {} : JSON.parse(UTF_8.decode(bytes))
  } catch {
    throw new ApiError(400, 'the body is not valid JSON')
  }
}

function answerError({ report }: ApiSettings, exchange: Exchange, error: unknown): void {
  if (error instanceof ApiError) {
    answerJson(exchange, error.status, { error: { message: error.message } }, error.headers)
  } else if (isMistake(error)) {
    const { field } = error
    const message = withoutField(error)
    answerJson(exchange, statusOf(error), {
      error: { ...((field ?? '') !== '' && { field }), message },
    })
  } else if (error instanceof StorageError) {
    answerJson(exchange, error.status, { error: { message: error.message } })
  } else {
    report(`admin request ${exchange.head.target.slice(0, 200)} failed`, error)
    answerJson(exchange, 500, { error: { message: 'internal error' } })
  }
}

/** An error of a part that a client has made, and can see to: it has a `field`, even if no field is wrong. */
type Mistake = Error & { readonly field: string | undefined; readonly code?: unknown }

function isMistake(error: unknown): error is Mistake {
  return error instanceof Error && 'field' in error
}

/** Messages of fields begin with the name, which has a place of its own here. */
function withoutField({ field = '', message }: Mistake): string {
  return field !== '' && message.startsWith(`${field} `) ? message.slice(field.length + 1) : message
}

function statusOf({ field, code }: Mistake): number {
  if (code === 'NotHeld') return 404
  return field === undefined ? 409 : 400
}

function answerJson(
  exchange: Exchange,
  status: number,
  value: unknown,
  more: readonly string[] = [],
): void {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`)
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)]
  headers.push('Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff', ...more)
  exchange.answer(status, [headers], exchange.head.method === 'HEAD' ? undefined : bytes)
}
