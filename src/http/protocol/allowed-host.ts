// Which host names a request may carry (docs/decisions/0017-allowed-hosts.md). A web page can make its own name
// resolve to 127.0.0.1 and so reach a server that listens only there (DNS rebinding); its requests then carry the
// page's name. Names that nobody else can make resolve to this machine pass, others have to be allowed.
import { isIP } from 'node:net'
import { remembering } from '../../memory/remember.ts'
import { StorageError } from '../../storage/shared/error.ts'

/** Whether the value of a Host header is accepted. */
export type HostRule = (host: string | undefined) => boolean

/** Each of `names` stands for itself and everything below it; `*` is any name. */
export function hostRule(names: readonly string[]): HostRule {
  const lower = names.filter((name) => isIP(name) === 0).map((name) => name.toLowerCase())
  const isAllowed = remembering((host) => isAllowedHost(host, lower))
  // HTTP/1.0 has requests without a Host, browsers have not.
  return (host) => host === undefined || isAllowed(host)
}

export function hostRefusal(host: string): StorageError {
  const shown = host.slice(0, 255)
  const message =
    'The host name of the request is not accepted at this address. ' +
    'Start the server with --allowedHosts to accept it.'
  return new StorageError('InvalidHeaderValue', { HeaderName: 'Host', HeaderValue: shown }, message)
}

/** 127.0.0.0/8 (RFC 1122, 3.2.1.3) and ::1 (RFC 4291, 2.5.3), as a socket writes them. */
export function isLoopbackAddress(address: string): boolean {
  return /^(::ffff:)?127\./.test(address) || address === '::1'
}

function isAllowedHost(host: string, names: readonly string[]): boolean {
  const name = hostName(host)
  if (name === undefined) return false
  // An address is no name that could be made to resolve to another one.
  if (isIP(name) !== 0) return true
  return isSafeName(name) || names.some((allowed) => allowed === '*' || isBelow(name, allowed))
}

/** Without port, brackets and the dot that ends a fully qualified name; undefined for what can't be one. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^\s:[\]/@]+))(?::\d*)?$/i.exec(host)
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '')
}

function isBelow(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`)
}

/** Containers reach the machine that runs them by these; `internal` is nobody's domain. */
const CONTAINER_HOSTS = [
  'host.docker.internal',
  'gateway.docker.internal',
  'host.containers.internal',
]

/** Azure's own names for accounts, which /etc/hosts or a proxy may send here. Only Azure gives them addresses. */
const AZURE =
  /\.(?:blob|queue|table|file|dfs|web)\.(?:core\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn|cloudapi\.de)|storage\.azure\.net)$/

/** RFC 6761, 6.3: names below localhost never leave the machine. */
function isSafeName(name: string): boolean {
  return isBelow(name, 'localhost') || CONTAINER_HOSTS.includes(name) || AZURE.test(name)
}
