// Requests of the server to itself, without a connection: what seeds and exports a store follows the same rules as clients.
import type { ServiceName } from '../../auth/request.ts'
import { OWN_VERSION, signedHead } from '../../http/client/signed-head.ts'
import type { Body } from '../../http/protocol/body.ts'
import type { Exchange, RequestHandler } from '../../http/protocol/exchange.ts'
import { parseRequestHead, type RequestHead } from '../../http/protocol/request-head.ts'
import type { HeaderLists } from '../../http/protocol/response-head.ts'
import type { Accounts } from '../../storage/shared/account.ts'

export type OwnRequest = {
  readonly service: ServiceName
  readonly account: string
  readonly method: string
  /** Not percent-encoded. */
  readonly path?: readonly string[]
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: Uint8Array | string | OwnStream
}

export type OwnStream = { readonly lengthBytes: number; stream(): AsyncIterable<Uint8Array> }

export type OwnAnswer = {
  readonly status: number
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export type OwnClient = (request: OwnRequest) => Promise<OwnAnswer>

export type OwnWorld = {
  readonly handlers: Readonly<Record<ServiceName, RequestHandler>>
  readonly accounts: Accounts
  /** The clock by which signatures are judged. */
  wallClock(): number
}

export function ownClient({ handlers, accounts, wallClock }: OwnWorld): OwnClient {
  return async (request) => {
    const account = accounts.get(request.account)
    if (account === undefined) throw new Error(`the account ${request.account} was removed`)
    const body = bodyOf(request.body)
    const unsigned = headOf(request, body, new Date(wallClock()).toUTCString())
    const { exchange, answered } = ownExchange(signedHead(request.service, account, unsigned), body)
    await handlers[request.service].handle(exchange)
    return answered()
  }
}

function headOf(request: OwnRequest, body: Body, date: string): RequestHead {
  const fields = {
    Host: '127.0.0.1',
    'User-Agent': 'lazuli-seed',
    'x-ms-version': OWN_VERSION,
    'x-ms-date': date,
    ...(request.method !== 'GET' && { 'Content-Length': String(body.lengthBytes) }),
    ...request.headers,
  }
  const lines = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`)
  return parseRequestHead(`${request.method} ${targetOf(request)} HTTP/1.1\r\n${lines.join('')}`)
}

function targetOf({ account, path = [], query = {} }: OwnRequest): string {
  const resource = path.map((part) => part.split('/').map(encodeURIComponent).join('/')).join('/')
  const fields = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`)
  return `/${account}/${resource}${fields.length === 0 ? '' : `?${fields.join('&')}`}`
}

function bodyOf(given: OwnRequest['body']): Body {
  if (given !== undefined && typeof given === 'object' && 'stream' in given) {
    const read = async (): Promise<Buffer> => {
      const chunks: Uint8Array[] = []
      for await (const chunk of given.stream()) chunks.push(chunk)
      return Buffer.concat(chunks)
    }
    return { ...given, read }
  }
  const bytes = Buffer.from(given ?? '')
  return {
    lengthBytes: bytes.length,
    read: async () => bytes,
    async *stream() {
      yield bytes
    },
  }
}

function ownExchange(head: RequestHead, body: Body) {
  let answer: Omit<OwnAnswer, 'body'> | undefined
  const chunks: Buffer[] = []
  const begin = (status: number, lists: HeaderLists): void => {
    answer = { status, headers: headersOf(lists) }
  }
  const exchange: Exchange = {
    head,
    body,
    secure: true,
    remoteAddress: '127.0.0.1',
    connection: 0,
    onLoopback: false,
    gone: false,
    whenGone: () => undefined,
    whenLeft: () => undefined,
    drop: () => undefined,
    admit: () => undefined,
    makeLast: () => undefined,
    answer: (status, lists, bytes) => {
      begin(status, lists)
      if (bytes !== undefined) chunks.push(Buffer.from(bytes))
    },
    begin,
    // A copy: the chunk is used again once it is written.
    write: (bytes, done) => {
      chunks.push(Buffer.from(bytes))
      done?.()
      return true
    },
    drained: async () => undefined,
    end: () => undefined,
  }
  const answered = (): OwnAnswer => {
    if (answer === undefined) throw new Error('the request was not answered')
    return { ...answer, body: Buffer.concat(chunks) }
  }
  return { exchange, answered }
}

function headersOf(lists: HeaderLists): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const list of lists) {
    for (let at = 0; at + 1 < list.length; at += 2) {
      headers.set((list[at] ?? '').toLowerCase(), list[at + 1] ?? '')
    }
  }
  return headers
}
