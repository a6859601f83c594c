// Decides which other servers a copy may read from. A copy source is a URL that a client chooses and this server
// opens, so only URLs that --allowCopyFrom names are permitted. A wildcard never permits addresses inside the
// network: those have to be named literally. Pure; fetch-source.ts does the reading.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** One `--allowCopyFrom`: scheme, host, port and path, each as `URL` writes it. */
export type CopyPattern = {
  readonly protocol: string
  /** Each `*` is one label, as in certificates (RFC 6125 6.4.3); a sole `*` is any host. */
  readonly hostname: string
  /** Empty for the scheme's default port. */
  readonly port: string
  /** Undefined for any path. With `prefix`, all paths that start with it. */
  readonly path: string | undefined
  readonly prefix: boolean
}

/** `any address`: a pattern names the host literally, so any address it resolves to is permitted. */
export type CopyPermission = 'refused' | 'public only' | 'any address'

const EXAMPLE = 'write it like https://*.example.com or http://127.0.0.1:8080/path/*'

/** Each text may hold several patterns, separated by commas. */
export function parseAllowCopyFrom(texts: readonly string[]): CopyPattern[] {
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map(parsePattern)
}

function parsePattern(text: string): CopyPattern {
  // `URL` repairs a lot; a pattern that it would have to guess at is refused instead.
  if (!/^https?:\/\/[^/\\]/i.test(text)) throw badPattern(text, 'it must begin with a scheme')
  if (!URL.canParse(text)) throw badPattern(text, 'it is not a URL')
  const url = new URL(text)
  if (hasCredentials(url)) throw badPattern(text, 'it must not hold a user or a password')
  if (/[?#]/.test(text)) throw badPattern(text, 'it must not hold a query or a fragment')
  checkHostname(text, url.hostname)
  const path = url.pathname.replace(/\*$/, '')
  if (path.includes('*')) throw badPattern(text, 'a * in the path must be its end')
  return {
    protocol: url.protocol,
    hostname: url.hostname,
    port: url.port,
    path: path === '/' ? undefined : path,
    prefix: url.pathname.endsWith('*'),
  }
}

function checkHostname(text: string, hostname: string): void {
  const labels = hostname.split('.')
  if (hostname === '*') return
  if (labels.some((label) => label.includes('*') && label !== '*')) {
    throw badPattern(text, 'a * in the host must be a whole label')
  }
  // https://example.* would permit anyone who registers such a name.
  if (labels.at(-1) === '*') throw badPattern(text, 'the last label of the host must not be *')
}

function badPattern(text: string, reason: string): Error {
  // Someone may have pasted a URL with its SAS: parts that can hold a secret are not repeated.
  const shown = text.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')
  return new Error(`--allowCopyFrom ${shown} is not a valid pattern: ${reason}; ${EXAMPLE}`)
}

/** The permission that the patterns give a URL; the addresses of its host are not known yet. */
export function copyPermission(patterns: readonly CopyPattern[], url: URL): CopyPermission {
  if (hasCredentials(url)) return 'refused'
  const matching = patterns.filter((pattern) => matches(pattern, url))
  if (matching.length === 0) return 'refused'
  return matching.some(({ hostname }) => !hostname.includes('*')) ? 'any address' : 'public only'
}

function matches(pattern: CopyPattern, url: URL): boolean {
  if (pattern.protocol !== url.protocol || pattern.port !== url.port) return false
  return matchesHostname(pattern.hostname, url.hostname) && matchesPath(pattern, url.pathname)
}

function matchesHostname(pattern: string, hostname: string): boolean {
  if (pattern === '*') return hostname !== ''
  const labels = hostname.split('.')
  const expected = pattern.split('.')
  if (labels.length !== expected.length) return false
  return expected.every((label, at) => (label === '*' ? labels[at] !== '' : label === labels[at]))
}

function matchesPath({ path, prefix }: CopyPattern, pathname: string): boolean {
  if (path === undefined) return true
  if (!prefix) return pathname === path
  return pathname.startsWith(path) && !climbs(pathname)
}

/**
 * Whether the path has `..` segments left. `URL` has resolved `..` and `%2e%2e`, but servers that decode before
 * they split see more of them: `/public/..%2fsecret`, and with path parameters `/public/..;/secret`.
 */
function climbs(pathname: string): boolean {
  const decoded = pathname
    .replace(/%2e/gi, '.')
    .replace(/%2f|%5c|\\/gi, '/')
    .replace(/%3b/gi, ';')
  return /(?:^|\/)\.\.(?:[/;]|$)/.test(decoded)
}

function hasCredentials(url: URL): boolean {
  return url.username !== '' || url.password !== ''
}

// IANA's special-purpose registry (RFC 6890), and multicast.
const INSIDE_IPV4 = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's host agent, reached from any virtual machine there
  ['169.254.0.0', 16], // link-local, with the metadata service of every cloud
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
] as const

// Only 2000::/3 is allocated as global unicast, so loopback, unspecified, unique-local, link-local, multicast,
// IPv4-mapped and NAT64 (64:ff9b::) are all outside it. These parts of it are not public.
const GLOBAL_IPV6 = ['2000::', 3] as const
const INSIDE_IPV6 = [
  ['2001::', 23], // protocol assignments, among them Teredo, which holds an IPv4 address
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which holds an IPv4 address
  ['3fff::', 20], // documentation
] as const

type Subnet = readonly [network: string, prefixBits: number]

const insideIPv4 = subnets('ipv4', INSIDE_IPV4)
const globalIPv6 = subnets('ipv6', [GLOBAL_IPV6])
const insideIPv6 = subnets('ipv6', INSIDE_IPV6)

function subnets(family: 'ipv4' | 'ipv6', rows: readonly Subnet[]): BlockList {
  const list = new BlockList()
  for (const [network, prefixBits] of rows) list.addSubnet(network, prefixBits, family)
  return list
}

/** Whether an address is on the public internet. False for invalid addresses and those with a zone. */
export function isPublicAddress(ip: string): boolean {
  if (isIPv4(ip)) return !insideIPv4.check(ip, 'ipv4')
  if (!isIPv6(ip) || ip.includes('%')) return false
  return globalIPv6.check(ip, 'ipv6') && !insideIPv6.check(ip, 'ipv6')
}
