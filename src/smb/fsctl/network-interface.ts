// FSCTL_QUERY_NETWORK_INTERFACE_INFO ([MS-SMB2] 3.3.5.15.11): the addresses to which a client may connect further
// channels. Only the address that the client has used is sure to reach this server through its network.
import { isIPv4, isIPv6 } from 'node:net'
import { CAPABILITY } from '../command/negotiate.ts'
import { SmbError } from '../smb-error.ts'
import { encodeNetworkInterfaces } from '../wire/file/fsctl.ts'
import type { FsctlCall, FsctlReply } from './fsctl.ts'

const INTERFACE_INDEX = 1
const LINK_SPEED_BITS_PER_SECOND = 10_000_000_000n

export function runQueryNetworkInterface(call: FsctlCall): FsctlReply {
  const { connection, outputMaxBytes } = call
  const capabilities = connection.negotiated?.capabilities ?? 0
  if ((capabilities & CAPABILITY.multiChannel) === 0) throw new SmbError('NOT_SUPPORTED')
  const address = addressBytes(connection.serverIp)
  if (address === undefined) throw new SmbError('NOT_SUPPORTED')
  const entry = { index: INTERFACE_INDEX, capability: 0, address }
  const output = encodeNetworkInterfaces([
    { ...entry, linkSpeedBitsPerSecond: LINK_SPEED_BITS_PER_SECOND },
  ])
  if (outputMaxBytes < output.length) throw new SmbError('BUFFER_TOO_SMALL')
  return { output }
}

/** 4 or 16 bytes, without the zone of an IPv6 address. */
export function addressBytes(ip: string): Buffer | undefined {
  if (isIPv4(ip)) return Buffer.from(ip.split('.').map(Number))
  const [plain = ''] = ip.split('%')
  if (!isIPv6(plain)) return undefined
  const [head = '', tail] = plain.split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0)
  const groups = [...before, ...zeros, ...after]
  return Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]))
}

/** The last two groups may be an IPv4 address. */
function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  })
}
