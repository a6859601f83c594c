// Tells requests to Data Lake Storage from those to the Blob service on a port that answers both. With account names as hosts
// the host says it; in path style, most clients send both kinds of requests to the same URL, and the request itself
// says it.
import type { RequestHead } from '../../http/protocol/request-head.ts'
import type { Accounts } from '../../storage/shared/account.ts'

type Endpoint = 'blob' | 'dfs'

export type Ports = {
  readonly accounts: Pick<Accounts, 'get'>
  readonly pathStyleOnly: boolean
  /** What the port is called: for requests that say nothing. */
  readonly port: Endpoint
}

export function endpointOf(head: RequestHead, { accounts, pathStyleOnly, port }: Ports): Endpoint {
  const host = pathStyleOnly ? undefined : hostEndpoint(head.headers.host, accounts)
  // Data Lake Storage has nothing with this parameter but the list of deleted paths, which is that of the Blob service.
  if (host === 'dfs' && RESTYPE.test(head.target)) return 'blob'
  return host ?? (isLakeRequest(head) ? 'dfs' : (blobOrAccepted(head) ?? port))
}

const RESTYPE = /[?&]restype=/i

/** `{account}.dfs.…`. A name that only looks like it may be that of a machine. */
function hostEndpoint(host: string | undefined, accounts: Ports['accounts']): Endpoint | undefined {
  const [, label, endpoint] = /^([^.]+)\.(blob|dfs)\./i.exec(host ?? '') ?? []
  if (label === undefined || endpoint === undefined) return undefined
  const account = label.toLowerCase().replace(/-secondary$/, '')
  if (accounts.get(account) === undefined) return undefined
  return endpoint.toLowerCase() === 'dfs' ? 'dfs' : 'blob'
}

/** Parameters and headers that the Blob service does not have. */
function isLakeRequest({ method, target, headers }: RequestHead): boolean {
  if (LAKE_PARAMETERS.test(target)) return true
  if (LAKE_HEADERS.some((name) => headers[name] !== undefined)) return true
  return method === 'POST' && headers['x-ms-lease-action'] !== undefined && !COMP.test(target)
}

const LAKE_PARAMETERS = /[?&](?:resource|action|recursive)=/i
const LAKE_HEADERS = ['x-ms-rename-source', 'x-http-method-override', 'x-ms-undelete-source']
const COMP = /[?&]comp=/i

function blobOrAccepted({ method, target, headers }: RequestHead): Endpoint | undefined {
  if (BLOB_PARAMETERS.test(target)) return LAKE_COMP.test(target) ? undefined : 'blob'
  if (BLOB_HEADERS.some((name) => headers[name] !== undefined)) return 'blob'
  return method === 'PUT' || method === 'POST' ? undefined : acceptedEndpoint(headers.accept ?? '')
}

const BLOB_PARAMETERS = /[?&](?:restype|comp|snapshot|versionid)=/i
/** Both have these, with the same meaning. */
const LAKE_COMP = /[?&]comp=(?:expiry|undelete)(?:&|$)/i
const BLOB_HEADERS = ['x-ms-blob-type', 'x-ms-copy-source']

/** Errors are XML in the Blob service and JSON in Data Lake Storage, and so is what their clients accept. */
function acceptedEndpoint(accept: string): Endpoint | undefined {
  if (accept.includes('application/xml')) return 'blob'
  const isJson = accept.includes('application/json') && !accept.includes('*/*')
  return isJson ? 'dfs' : undefined
}
