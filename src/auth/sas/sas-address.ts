// The `sip` of a SAS: one IPv4 address or a range, both ends included.
import { isIPv4 } from 'node:net'

export type AddressRange = { readonly first: number; readonly last: number }

export function parseAddressRange(text: string): AddressRange | undefined {
  const [first = '', last = first, ...rest] = text.split('-')
  if (rest.length > 0 || !isIPv4(first) || !isIPv4(last)) return undefined
  return { first: toNumber(first), last: toNumber(last) }
}

export function isInAddressRange(range: AddressRange, remoteAddress: string): boolean {
  const address = toIPv4(remoteAddress)
  if (address === undefined) return false
  const number = toNumber(address)
  return range.first <= number && number <= range.last
}

export function isLoopback(remoteAddress: string): boolean {
  return toIPv4(remoteAddress)?.startsWith('127.') ?? false
}

/** A dual-stack socket shows IPv4 peers as ::ffff:a.b.c.d, and the loopback as ::1. */
function toIPv4(address: string): string | undefined {
  if (address === '::1') return '127.0.0.1'
  const text = address.toLowerCase().startsWith('::ffff:') ? address.slice(7) : address
  return isIPv4(text) ? text : undefined
}

function toNumber(address: string): number {
  return address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0)
}
