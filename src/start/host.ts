// Addresses to listen on, and their URLs.

/** Whether only this machine can reach it: RFC 1122 3.2.1.3 (127/8), RFC 4291 2.5.3 (::1), RFC 6761 6.3. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase()
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/.test(name) || /^(0{0,4}:){2,7}0{0,3}1$/.test(name)
}

export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || /^[0:]+$/.test(host)
}

/** An address that a client on this machine can connect to. */
export function connectHost(host: string): string {
  if (!isWildcard(host)) return host
  return host === '0.0.0.0' ? '127.0.0.1' : '::1'
}

/** `http://127.0.0.1:10000`, with brackets around an IPv6 address (RFC 3986 3.2.2). */
export function urlOf(protocol: 'http' | 'https', host: string, port: number): string {
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
