// Checks the Host header against DNS rebinding (docs/decisions/0017-allowed-hosts.md). A web page can make its own
// name resolve to 127.0.0.1 and so reach a server that listens only there; its requests then carry the page's
// name. Names that nobody else can make resolve to this machine are accepted; others have to be allowed.
import { isIP } from 'node:net'
import { memoize } from '../../memory/memoize.ts'
import { StorageError } from '../../storage/shared/error.ts'

/** Whether the value of a Host header is accepted. */
export type HostRule = (host: string | undefined) => boolean

/** Each of `names` allows itself and its subdomains; `*` allows any name. */
export function hostRule(names: readonly string[]): HostRule {
  const lower = names.filter((name) => isIP(name) === 0).map((name) => name.toLowerCase())
  const isAllowed = memoize((host) => isAllowedHost(host, lower))
  // HTTP/1.0 requests may lack a Host; browsers always send one.
  return (host) => host === undefined || isAllowed(host)
}

export function hostRefusal(host: string): StorageError {
  const shown = host.slice(0, 255)
  const message =
    'The host name of the request is not accepted at this address. ' +
    'Start the server with --allowedHosts to accept it.'
  return new StorageError('InvalidHeaderValue', { HeaderName: 'Host', HeaderValue: shown }, message)
}

function isAllowedHost(host: string, names: readonly string[]): boolean {
  const name = hostName(host)
  if (name === undefined) return false
  // An address needs no name resolution, so it can't be rebound.
  if (isIP(name) !== 0) return true
  return isSafeName(name) || names.some((allowed) => allowed === '*' || isBelow(name, allowed))
}

/** The host without port, brackets and trailing dot, in lower case; undefined if it is not valid. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^\s:[\]/@]+))(?::\d*)?$/i.exec(host)
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '')
}

function isBelow(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`)
}

/** Names by which containers reach their host; nobody can register a name in `internal`. */
const CONTAINER_HOSTS = [
  'host.docker.internal',
  'gateway.docker.internal',
  'host.containers.internal',
]

/** Azure's host names of accounts, which /etc/hosts or a proxy may point here. Only Azure controls their DNS. */
const AZURE =
  /\.(?:blob|queue|table|file|dfs|web)\.(?:core\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn|cloudapi\.de)|storage\.azure\.net)$/

/** RFC 6761, 6.3: names below localhost never leave the machine. */
function isSafeName(name: string): boolean {
  return isBelow(name, 'localhost') || CONTAINER_HOSTS.includes(name) || AZURE.test(name)
}
