// What authentication needs to know of a request. The front end fills it in once; nothing here
// depends on how it was received, so REST, batches and tests all speak the same type.
import type { IncomingHttpHeaders } from 'node:http'

export type ServiceName = 'blob' | 'queue' | 'table' | 'file'

export type AuthRequest = {
  readonly service: ServiceName
  readonly method: string
  /** Node's: lower-case names. */
  readonly headers: IncomingHttpHeaders
  /** Without '-secondary'. */
  readonly account: string
  /** As sent, still percent-encoded; in path style with the account (and '-secondary' if sent so). */
  readonly rawPath: string
  readonly pathStyle: boolean
  /**
   * What the request addresses, resolved (http/door/resource-path.ts): [] the service, [container], [container,
   * blob]; files [share, 'dir/file'], tables [table, keys]. Names are canonical: `..` is gone, `$root` is there.
   */
  readonly path: readonly string[]
  /** Names lower-cased, decoded; values of a repeated name sorted and joined with ','. */
  readonly query: ReadonlyMap<string, string>
  /** The service version in force. */
  readonly version: string
  readonly secure: boolean
  readonly remoteAddress: string
}

/** The value of a query parameter, with absent and empty alike: so the service reads SAS fields. */
export function queryField(request: AuthRequest, name: string): string {
  return request.query.get(name) ?? ''
}

export function headerText(request: AuthRequest, name: string): string {
  const value = request.headers[name]
  if (value === undefined) return ''
  return typeof value === 'string' ? value : value.join(', ')
}
