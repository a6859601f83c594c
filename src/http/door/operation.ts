// The API is a table, and an operation is a row of it, found by the request line. An operation that is not in
// the table does not exist; permissions, limits and metrics are read from the row.
import type { Identity } from '../../auth/identity.ts'
import type { Permission } from '../../auth/permission.ts'
import type { AuthRequest } from '../../auth/request.ts'
import type { RequestWatch } from '../../control/watch.ts'
import type { PathCheck } from '../../storage/blob/path/access.ts'
import { invalidQuery, StorageError } from '../../storage/shared/error.ts'
import type { Body } from '../protocol/body.ts'

export type Request = AuthRequest & {
  readonly requestId: string
  /** Sent to `{account}-secondary`: reads only. */
  readonly secondary: boolean
  readonly rawHeaders: readonly string[]
  /** `--loose`: headers of unsupported features are ignored instead of refused. */
  readonly loose: boolean
  /** Scheme and authority as the client wrote them, for URLs in answers. */
  readonly endpoint: string
  readonly body: Body
  /** Whom the access control of paths applies to; by default, nobody. */
  readonly access?: PathCheck
}

export type Answer = {
  readonly status: number
  /** Name, value, name, value … */
  readonly headers: readonly string[]
  readonly body?: string | Uint8Array
  /**
   * A body too long to buffer. Without Content-Length in `headers` it is sent chunked. It is opened when the
   * answer is written, so an answer that is never written leaves nothing open.
   */
  readonly stream?: () => AsyncIterable<Uint8Array>
  /** Called when the client disconnects mid-stream: a stream that takes long for its next chunk can stop. */
  readonly onGone?: () => void
  /** Takes back the memory of a chunk once it is sent. */
  readonly recycle?: (chunk: Uint8Array) => void
}

/** What an operation works on, given by the length of the path. */
export type Level = 'service' | 'container' | 'object'

export type Call<Service> = {
  readonly request: Request
  readonly identity: Identity
  readonly service: Service
  /** undefined: nobody watches. */
  readonly watch?: RequestWatch | undefined
}

export type Operation<Service> = {
  /** The name in Azure's documentation. */
  readonly name: string
  readonly methods: readonly string[]
  readonly level: Level
  readonly restype?: string
  readonly comp?: string
  /** Query fields that must have these values, in any case. */
  readonly query?: Readonly<Record<string, string>>
  /** Distinguishes rows with the same request line, by a header. */
  readonly when?: (request: Request) => boolean
  readonly permission: Permission
  /** The longest body. Without it, the operation takes no body and ignores a short one. */
  readonly bodyBytesMax?: number
  readonly writes: boolean
  run(call: Call<Service>): Promise<Answer>
}

export type OperationTable<Service> = {
  readonly operations: readonly Operation<Service>[]
  find(request: Request): Operation<Service>
}

export function tableOf<Service>(
  operations: readonly Operation<Service>[],
  levelOf: (request: Request) => Level,
): OperationTable<Service> {
  const rows = new Map<string, Candidate<Service>[]>()
  for (const operation of operations) {
    for (const method of operation.methods) {
      const line = lineOf(method, operation.level, operation.restype, operation.comp)
      rows.set(line, [...(rows.get(line) ?? []), { operation, query: lowerCased(operation.query) }])
    }
  }
  return {
    operations,
    find(request: Request): Operation<Service> {
      const level = levelOf(request)
      const [restype, comp] = [request.query.get('restype'), request.query.get('comp')]
      for (const row of rows.get(lineOf(request.method, level, restype, comp)) ?? []) {
        const { operation, query } = row
        if (operation.when?.(request) !== false && hasQuery(request, query)) return operation
      }
      throw noSuchOperation(operations, level, request)
    },
  }
}

type Fields = readonly (readonly [name: string, value: string])[]
type Candidate<Service> = { readonly operation: Operation<Service>; readonly query: Fields }

function lowerCased(query: Readonly<Record<string, string>> = {}): Fields {
  return Object.entries(query).map(([name, value]) => [name.toLowerCase(), value.toLowerCase()])
}

function hasQuery({ query }: Request, wanted: Fields): boolean {
  return wanted.every(([name, value]) => query.get(name)?.toLowerCase() === value)
}

function lineOf(method: string, level: Level, restype = '', comp = ''): string {
  return `${method} ${level} ${restype.toLowerCase()} ${comp.toLowerCase()}`
}

function noSuchOperation<Service>(
  operations: readonly Operation<Service>[],
  level: Level,
  request: Request,
): StorageError {
  const [restype = '', comp = ''] = [request.query.get('restype'), request.query.get('comp')]
  const line = lineOf('', level, restype, comp)
  const others = operations.filter((row) => lineOf('', row.level, row.restype, row.comp) === line)
  if (others.length > 0) {
    const allowed = new Set(others.flatMap((row) => row.methods))
    return new StorageError('UnsupportedHttpVerb', { Allow: [...allowed].join(', ') })
  }
  const known = operations.some((row) => row.comp?.toLowerCase() === comp.toLowerCase())
  return comp === '' || known ? invalidQuery('restype', restype) : invalidQuery('comp', comp)
}
