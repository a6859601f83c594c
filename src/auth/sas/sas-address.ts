// The `sip` of a SAS: one IPv4 address or a range, both ends included.
import { isIPv4 } from 'node:net'
import { toIPv4 } from '../remote-address.ts'

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

function toNumber(address: string): number {
  return address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0)
}
