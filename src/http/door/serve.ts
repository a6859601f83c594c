// The front door. A request is one straight line: decode, match, authenticate, authorize, run, answer.
// Errors of every step end up in one place. Anything but a StorageError is a bug of ours: it is logged with
// its stack and answered with 500.
import { randomUUID } from 'node:crypto'
import { authenticate } from '../../auth/authenticate.ts'
import { authorize } from '../../auth/authorize.ts'
import type { Identity } from '../../auth/identity.ts'
import { serviceOfEndpoint, type HttpEndpoint } from '../../auth/request.ts'
import type { AuthWorld } from '../../auth/world.ts'
import { clientName } from '../../control/client.ts'
import type { Control } from '../../control/control.ts'
import { ConnectionReset } from '../../control/point.ts'
import { RequestWatch } from '../../control/watch.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import { invalidQuery, StorageError } from '../../storage/shared/error.ts'
import type {
  CorsRule,
  ServiceProperties,
} from '../../storage/shared/service/service-properties.ts'
import { accountFromHeaders, addressOf } from './address.ts'
import { hostRefusal, type HostRule } from '../protocol/allowed-host.ts'
import { ClientGone, tooLarge } from '../protocol/body.ts'
import { corsHeaders, preflightAnswer } from './cors.ts'
import { storageErrorOf, wireCode } from './error.ts'
import type { FailedRequest } from './error-answer.ts'
import { errorAt } from './error-versions.ts'
import type { Exchange, RequestHandler } from '../protocol/exchange.ts'
import { harmedAnswer, withSlowBody } from './harm.ts'
import { answerAt } from './header-versions.ts'
import type { Answer, Call, Operation, OperationTable, Request } from './operation.ts'
import { parseQuery } from '../protocol/query.ts'
import type { RequestHead } from '../protocol/request-head.ts'
import { resolvePath } from './resource-path.ts'
import { respond } from './respond.ts'
import { parseStructuredBodyHeader } from '../protocol/structured-body.ts'
import { echoedVersion, FALLBACK_VERSION, serviceVersion } from './version.ts'

/** One service on one port, with everything its requests need. */
export type Front<Service> = {
  readonly name: HttpEndpoint
  readonly serverHeader: string
  readonly table: OperationTable<Service>
  readonly service: Service
  /** Encodes an error the way this service does. */
  readonly errorAnswer: (error: StorageError, failed: FailedRequest) => Answer
  readonly accounts: Accounts
  readonly pathStyleOnly: boolean
  /** Checked only on ports bound to loopback. */
  readonly acceptsHost: HostRule
  readonly strictVersion: boolean
  /** `--loose`: headers of unsupported features are ignored instead of refused. */
  readonly loose: boolean
  world(): AuthWorld
  properties(account: string): Promise<ServiceProperties>
  readonly watching: Control['watching']
  observe(report: RequestReport): void
  logFault(error: unknown, requestId: string): void
}

export type RequestReport = {
  readonly operation: string
  /** For analytics logs; undefined if the request could not be decoded. */
  readonly request: Request | undefined
  /** undefined: unknown. */
  readonly resource: { readonly account: string; readonly path: readonly string[] } | undefined
  readonly identity: Identity | undefined
  readonly watch: RequestWatch | undefined
  readonly head: RequestHead
  readonly connection: number
  /** As in Exchange. */
  readonly via: string | undefined
  readonly answerHeaders: readonly string[]
  readonly writes: boolean
  readonly requestId: string
  readonly method: string
  readonly url: string
  readonly httpVersion: string
  readonly remoteAddress: string
  /** 0: the client got no answer. */
  readonly status: number
  readonly errorCode: string | undefined
  readonly requestBytes: number
  readonly responseBytes: number
  readonly durationMs: number
}

export function handlerOf<Service>(front: Front<Service>): RequestHandler {
  return {
    handle: (exchange) => handle(front, exchange),
    logFault: (error, requestId) => front.logFault(error, requestId),
  }
}

async function handle<Service>(front: Front<Service>, exchange: Exchange): Promise<void> {
  const startedMs = performance.now()
  const requestId = randomUUID()
  let request: Request | undefined
  let operation: Operation<Service> | undefined
  let answer: Answer
  let identity: Identity | undefined
  let errorCode: string | undefined
  let isRunning = false
  let watch: RequestWatch | undefined
  let properties: Promise<ServiceProperties> | undefined
  try {
    request = decodeRequest(front, exchange, requestId)
    if (request.version === NO_VERSION) request = await withVersion(front, request)
    if (request.method === 'OPTIONS') {
      const { cors } = await front.properties(request.account)
      answer = preflightAnswer(cors, request.headers)
    } else {
      operation = front.table.find(request)
      watch = watchOf(front, exchange, request, operation)
      if (watch?.isArmed === true) await watch.reach('received')
      const world = front.world()
      // No `await` on a value that is there already: it would cost a turn of the microtask queue.
      const authenticating = authenticate(request, world)
      identity = authenticating instanceof Promise ? await authenticating : authenticating
      const authorizing = authorize(identity, operation.permission, request, world)
      if (authorizing !== undefined) await authorizing
      if (watch?.isArmed === true) await watch.reach('authorized')
      isRunning = true
      exchange.admit(identity.kind !== 'anonymous')
      // Started together with a read, so that a database can answer both at once. A write may change the rules.
      if (!operation.writes && mayNeedCors(request)) {
        properties = front.properties(request.account)
        properties.catch(ignore)
      }
      answer = await runOperation(front, operation, { request, identity, watch })
    }
    if (mayNeedCors(request)) {
      const { cors } = await (properties ?? front.properties(request.account))
      answer = withCors(cors, request, answer)
    }
  } catch (error) {
    if (error instanceof ClientGone || error instanceof ConnectionReset || exchange.gone) {
      exchange.drop()
      answer = NO_ANSWER
      errorCode = error instanceof ConnectionReset ? 'ConnectionReset' : 'ClientGone'
    } else {
      const thrown = storageErrorOf(error) ?? new StorageError('InternalError')
      const known = errorAt(thrown, request?.version)
      // A fault that was asked for is no bug.
      if (known.code === 'InternalError' && thrown !== error) front.logFault(error, requestId)
      answer = front.errorAnswer(known, {
        service: serviceOfEndpoint(front.name),
        method: exchange.head.method,
        requestId,
        nowMs: Date.now(),
        isRunning,
        operation: operation?.name,
        request,
      })
      errorCode = sentCode(answer) ?? wireCode(known.code)
      if (request !== undefined && mayNeedCors(request)) {
        answer = await corsOfError(front, request, answer, properties)
      }
    }
  }
  const { head } = exchange
  const common = commonHeaders(front, head, request, requestId)
  const harmed = watch?.harm === undefined ? answer : harmedAnswer(exchange, answer, watch.harm)
  const isAnswered = harmed !== undefined && answer !== NO_ANSWER
  const sent = isAnswered ? respond(exchange, harmed, common) : 0
  const responseBytes = typeof sent === 'number' ? sent : await orEnd(sent, watch)
  front.observe({
    operation: operation?.name ?? (request?.method === 'OPTIONS' ? 'Preflight' : 'Unknown'),
    request,
    resource: request,
    identity,
    watch,
    head,
    connection: exchange.connection,
    via: exchange.via,
    answerHeaders: answer.headers,
    writes: operation?.writes ?? false,
    requestId,
    method: head.method,
    url: head.target,
    httpVersion: head.httpVersion,
    remoteAddress: exchange.remoteAddress,
    status: answer.status,
    errorCode,
    requestBytes: request?.body.lengthBytes ?? 0,
    responseBytes,
    durationMs: performance.now() - startedMs,
  })
  if (watch?.isArmed === true && answer !== NO_ANSWER) await watch.reach('answered')
  watch?.end()
}

/** The client has left, or a fault ends its connection. */
const NO_ANSWER: Answer = { status: 0, headers: [] }

/** A request whose answer fails is over, too. */
function orEnd(sent: Promise<number>, watch: RequestWatch | undefined): Promise<number> {
  if (watch === undefined) return sent
  return sent.catch((error: unknown) => {
    watch.end()
    throw error
  })
}

function watchOf<Service>(
  { watching, name: service }: Front<Service>,
  exchange: Exchange,
  { account, path, headers }: Request,
  { name: operation }: Operation<Service>,
): RequestWatch | undefined {
  const { points, clientBy, isAlwaysOn } = watching
  if (!isAlwaysOn && !points.isArmed) return undefined
  return new RequestWatch(points, watching.clock(), () => {
    const { head, remoteAddress: address, connection } = exchange
    return {
      service,
      operation,
      account,
      path: `/${path.join('/')}`,
      client: clientName({ headers, address, connection }, clientBy),
      clientRequestId: headerOf(head, 'x-ms-client-request-id'),
      whenGone: (listener) => exchange.whenLeft(listener),
    }
  })
}

function headerOf({ headers }: RequestHead, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** As the client sees it: Data Lake Storage has names of its own for codes of blobs. */
function sentCode({ headers }: Answer): string | undefined {
  const at = headers.indexOf('x-ms-error-code')
  return at < 0 ? undefined : headers[at + 1]
}

/** Whoever awaits the promise sees its rejection; if the operation fails first, nobody does. */
function ignore(): void {}

type Watched = Pick<Call<unknown>, 'request' | 'identity'> & {
  readonly watch: RequestWatch | undefined
}

async function runOperation<Service>(
  front: Front<Service>,
  operation: Operation<Service>,
  { request, identity, watch }: Watched,
): Promise<Answer> {
  if (operation.writes && request.secondary) {
    const message = 'Write operations are not allowed.'
    throw new StorageError('InsufficientAccountPermissions', {}, message)
  }
  checkBodyLength(operation, request)
  const limitMs = timeoutMs(request)
  const service = watch === undefined ? front.service : watch.over(front.service)
  const harmed = watch?.harm === undefined ? request : withSlowBody(request, watch.harm)
  const running = operation.run({ request: harmed, identity, service, watch })
  const answer = await (limitMs === undefined ? running : withinTimeout(running, limitMs))
  return answerAt(answer, operation.name, request.version)
}

function decodeRequest<Service>(
  front: Front<Service>,
  { head, body, secure, remoteAddress, onLoopback }: Exchange,
  requestId: string,
): Request {
  const { method, headers, rawHeaders } = head
  if (onLoopback && !front.acceptsHost(headers.host)) throw hostRefusal(headers.host ?? '')
  const url = originForm(head.target)
  const question = url.indexOf('?')
  const rawPath = question < 0 ? url : url.slice(0, question)
  const query = parseQuery(question < 0 ? '' : url.slice(question + 1))
  const mayOmitAccount = front.name === 'file' || front.name === 'dfs'
  const fallback = mayOmitAccount ? () => accountFromHeaders(headers) : undefined
  const address = addressOf(front.accounts, headers.host, rawPath, front.pathStyleOnly, fallback)
  const version = serviceVersion(headers, query, front.strictVersion, NO_VERSION)
  const endpoint = `${secure ? 'https' : 'http'}://${headers.host ?? 'localhost'}`
  return {
    service: serviceOfEndpoint(front.name),
    method,
    headers,
    rawHeaders,
    account: address.account,
    secondary: address.secondary,
    rawPath,
    pathStyle: address.pathStyle,
    path: resolvePath(front.name, address.resource, { query, headers, version }),
    query,
    version,
    secure,
    remoteAddress,
    requestId,
    loose: front.loose,
    endpoint: address.pathStyle ? `${endpoint}/${address.account}` : endpoint,
    body,
  }
}

const NO_VERSION = ''

/** A request without a version gets the account's DefaultServiceVersion. */
async function withVersion<Service>(front: Front<Service>, request: Request): Promise<Request> {
  const { defaultServiceVersion } = await front.properties(request.account)
  return { ...request, version: defaultServiceVersion ?? FALLBACK_VERSION }
}

/** The path and query of a target. Clients of a proxy send absolute form: `GET http://host/path`. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url
  const match = /^https?:\/\/[^/?]*(.*)$/i.exec(url)
  const rest = match?.[1]
  if (rest === undefined) throw new StorageError('InvalidUri')
  return rest.startsWith('/') ? rest : `/${rest}`
}

function checkBodyLength<Service>(operation: Operation<Service>, request: Request): void {
  const bytesMax = operation.bodyBytesMax
  if (bytesMax !== undefined && request.body.lengthBytes === undefined) {
    throw new StorageError('MissingContentLengthHeader')
  }
  // Limits apply to the content. Decoding a structured message checks that its frames add no more than they must.
  const structured = bytesMax ? parseStructuredBodyHeader(request.headers) : undefined
  const lengthBytes = structured?.contentBytes ?? request.body.lengthBytes ?? 0
  const limit = bytesMax ?? IGNORED_BODY_BYTES_MAX
  if (lengthBytes > limit) throw tooLarge(limit)
}

/** Operations without a body ignore a short one: some clients send one with DELETE. */
const IGNORED_BODY_BYTES_MAX = 64 * 1024

/** The service's own limit is 30 seconds; clients may ask for less. */
const TIMEOUT_SECONDS_MAX = 30
/** A body may take 10 minutes per MiB. */
const TIMEOUT_SECONDS_PER_MIB = 600
const TIMER_MS_MAX = 2 ** 31 - 1

function timeoutMs({ query, body }: Request): number | undefined {
  const text = query.get('timeout')
  if (text === undefined || text === '') return undefined
  if (!/^\d{1,9}$/.test(text)) throw invalidQuery('timeout', text)
  const bodyMib = Math.ceil((body.lengthBytes ?? 0) / (1 << 20))
  const secondsMax = Math.max(TIMEOUT_SECONDS_MAX, bodyMib * TIMEOUT_SECONDS_PER_MIB)
  return Math.min((Number(text) || secondsMax) * 1_000, secondsMax * 1_000, TIMER_MS_MAX)
}

function withinTimeout(running: Promise<Answer>, limitMs: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new StorageError('OperationTimedOut')), limitMs)
    running.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Cacheable answers need `Vary` even if this request has no Origin. A preflight has its own headers: a browser refuses two. */
function mayNeedCors({ method, headers }: Request): boolean {
  if (method === 'OPTIONS') return false
  return headers.origin !== undefined || method === 'GET' || method === 'HEAD'
}

function withCors(rules: readonly CorsRule[], request: Request, answer: Answer): Answer {
  if (rules.length === 0) return answer
  const added = corsHeaders(rules, request.method, request.headers.origin, answer.headers)
  return { ...answer, headers: [...answer.headers, ...added] }
}

/** The error is answered even if the CORS rules can't be read. */
async function corsOfError<Service>(
  front: Front<Service>,
  request: Request,
  answer: Answer,
  properties: Promise<ServiceProperties> | undefined,
): Promise<Answer> {
  try {
    const { cors } = await (properties ?? front.properties(request.account))
    return withCors(cors, request, answer)
  } catch {
    return answer
  }
}

function commonHeaders<Service>(
  front: Front<Service>,
  { headers: sent }: RequestHead,
  request: Request | undefined,
  requestId: string,
): string[] {
  const version = request?.version ?? echoedVersion(sent)
  const headers = ['Server', front.serverHeader, 'x-ms-request-id', requestId]
  headers.push('x-ms-version', version)
  const clientRequestId = sent['x-ms-client-request-id']
  if (typeof clientRequestId === 'string') headers.push('x-ms-client-request-id', clientRequestId)
  return headers
}
