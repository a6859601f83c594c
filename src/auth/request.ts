// The parts of a request that authentication needs. The front end fills them in once. Nothing here depends on
// the transport, so REST, batches and tests share the type.
import type { IncomingHttpHeaders } from 'node:http'

export type ServiceName = 'blob' | 'queue' | 'table' | 'file'

/** Endpoints over HTTP. `dfs`, Data Lake Storage, is the second endpoint of the Blob service: it signs and authorizes as blob. */
export type HttpEndpoint = ServiceName | 'dfs'

export function serviceOfEndpoint(endpoint: HttpEndpoint): ServiceName {
  return endpoint === 'dfs' ? 'blob' : endpoint
}

export type AuthRequest = {
  readonly service: ServiceName
  readonly method: string
  /** As Node gives them, with lower-case names. */
  readonly headers: IncomingHttpHeaders
  /** Without '-secondary'. */
  readonly account: string
  /** As sent, still percent-encoded. In path style it includes the account, with '-secondary' if sent. */
  readonly rawPath: string
  readonly pathStyle: boolean
  /**
   * The resource, resolved by http/door/resource-path.ts: [] the service, [container], [container, blob]; files
   * [share, 'dir/file'], tables [table, keys]. Names are canonical: `..` is resolved and `$root` is explicit.
   */
  readonly path: readonly string[]
  /** Names lower-cased, decoded; values of a repeated name sorted and joined with ','. */
  readonly query: ReadonlyMap<string, string>
  /** The service version in force. */
  readonly version: string
  readonly secure: boolean
  readonly remoteAddress: string
}

/** The value of a query parameter. Absent and empty are the same, as the service reads SAS fields. */
export function queryField(request: AuthRequest, name: string): string {
  return request.query.get(name) ?? ''
}

export function headerText(request: AuthRequest, name: string): string {
  const value = request.headers[name]
  if (value === undefined) return ''
  return typeof value === 'string' ? value : value.join(', ')
}
