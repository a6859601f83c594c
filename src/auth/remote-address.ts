// Remote addresses, as a socket writes them. A dual-stack socket writes IPv4 peers as ::ffff:a.b.c.d.
import { isIPv4 } from 'node:net'

/** 127.0.0.0/8 (RFC 1122, 3.2.1.3) and ::1 (RFC 4291, 2.5.3). */
export function isLoopbackAddress(address: string): boolean {
  return toIPv4(address)?.startsWith('127.') ?? false
}

/** ::1 counts as 127.0.0.1; other IPv6 addresses have no IPv4 form. */
export function toIPv4(address: string): string | undefined {
  if (address === '::1') return '127.0.0.1'
  const text = address.toLowerCase().startsWith('::ffff:') ? address.slice(7) : address
  return isIPv4(text) ? text : undefined
}
