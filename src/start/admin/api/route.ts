// A row of the table of routes. What it decodes and what the description of the API says come from the same schemas.
import { FieldError } from '../../../control/field-error.ts'
import type { Exchange } from '../../../http/protocol/exchange.ts'
import {
  decodeParameter,
  record,
  type DecodedFields,
  type OptionalSchema,
  type Schema,
} from './schema.ts'

export type RouteMethod = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

type QueryFields = Readonly<Record<string, OptionalSchema<unknown>>>

/** The texts of a request, before they are decoded. */
export type RawCall = {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: unknown
}

export type ApiRoute = {
  readonly method: RouteMethod
  /** Below /api/, with names in braces: `barriers/{id}`. */
  readonly path: string
  readonly description: string
  readonly query: QueryFields
  readonly body: Schema<unknown> | undefined
  /** undefined: the route answers the exchange itself. */
  readonly answer: Schema<unknown> | undefined
  /** What a route without `answer` answers. Content may have any body and any query, and its last name stands for any path. */
  readonly streams?: 'events' | 'content'
  /** By default, every method but GET changes something. */
  readonly isChange?: (exchange: Exchange) => boolean
  readonly status: 200 | 201
  run(raw: RawCall, exchange: Exchange): Promise<unknown>
}

type Row<Q extends QueryFields, B, A> = {
  readonly method: RouteMethod
  readonly path: string
  readonly description: string
  readonly query?: Q
  readonly body?: Schema<B>
  readonly answer: Schema<A>
  readonly status?: 201
  run(call: {
    readonly params: Readonly<Record<string, string>>
    readonly query: DecodedFields<Q>
    readonly body: B
  }): A | Promise<A>
}

const NOTHING = record({})

export function route<A, const Q extends QueryFields = Record<never, never>, B = unknown>(
  row: Row<Q, B, A>,
): ApiRoute {
  const query = row.query ?? ({} as Q)
  const body = row.body ?? (row.method === 'POST' ? NOTHING : undefined)
  return {
    ...row,
    query,
    body,
    status: row.status ?? 200,
    run: async ({ params, query: given, body: sent }) =>
      row.run({
        params,
        query: decodeQuery(query, given),
        body: body?.decode(sent, '') as B,
      }),
  }
}

/** Answers the exchange itself. */
export function streamRoute<const Q extends QueryFields>(row: {
  readonly path: string
  readonly description: string
  readonly query: Q
  run(query: DecodedFields<Q>, exchange: Exchange): Promise<void>
}): ApiRoute {
  return {
    ...row,
    method: 'GET',
    body: undefined,
    answer: undefined,
    streams: 'events',
    status: 200,
    run: async ({ query }, exchange) => row.run(decodeQuery(row.query, query), exchange),
  }
}

/** Passes content in both directions, by the exchange. */
export function contentRoute(
  row: Pick<ApiRoute, 'method' | 'path' | 'description' | 'isChange'> & {
    run(exchange: Exchange, params: RawCall['params']): Promise<void>
  },
): ApiRoute {
  return {
    ...row,
    query: {},
    body: undefined,
    answer: undefined,
    streams: 'content',
    status: 200,
    run: async ({ params }, exchange) => row.run(exchange, params),
  }
}

function decodeQuery<Q extends QueryFields>(fields: Q, given: URLSearchParams): DecodedFields<Q> {
  const decoded: Record<string, unknown> = {}
  for (const [name, value] of given) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined)
      throw new FieldError(name.slice(0, 100), `is not a field; expected ${expectedOf(fields)}`)
    if (Object.hasOwn(decoded, name)) throw new FieldError(name, 'is given twice')
    decoded[name] = decodeParameter(field, value, name)
  }
  return decoded as DecodedFields<Q>
}

function expectedOf(fields: QueryFields): string {
  return Object.keys(fields).join(', ') || 'none'
}

/** A request that can't be done, with its status and a sentence for people. */
export class ApiError extends Error {
  readonly status: number
  readonly headers: readonly string[]

  constructor(status: number, message: string, headers: readonly string[] = []) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.headers = headers
  }
}
