// TREE_CONNECT, [MS-SMB2] 2.2.9 and 2.2.10. The path is \\host\share; the host is ignored.
import { checkBody, decodeText, HEADER_BYTES, variablePart } from '../body.ts'

export const SHARE_TYPE = { disk: 1, pipe: 2 } as const
export const SHARE_FLAG = { encryptData: 0x8000 } as const
export const SHARE_CAPABILITY = { continuousAvailability: 0x10 } as const

export type TreeConnectRequest = {
  readonly flags: number
  readonly path: string
  /** The part after the host; undefined if the path does not have the form \\host\share. */
  readonly shareName: string | undefined
}

export function decodeTreeConnectRequest(message: Buffer): TreeConnectRequest {
  checkBody(message, 9)
  const path = decodeText(
    variablePart(message, 9, {
      offset: message.readUInt16LE(HEADER_BYTES + 4),
      lengthBytes: message.readUInt16LE(HEADER_BYTES + 6),
    }),
  )
  const flags = message.readUInt16LE(HEADER_BYTES + 2)
  return { flags, path, shareName: /^\\\\[^\\]+\\([^\\]+)$/.exec(path)?.[1] }
}

export type TreeConnectResponse = {
  readonly shareType: number
  readonly shareFlags: number
  readonly capabilities: number
  readonly maximalAccess: number
}

export function encodeTreeConnectResponse(response: TreeConnectResponse): Buffer {
  const body = Buffer.alloc(16)
  body.writeUInt16LE(16, 0)
  body.writeUInt8(response.shareType, 2)
  body.writeUInt32LE(response.shareFlags, 4)
  body.writeUInt32LE(response.capabilities, 8)
  body.writeUInt32LE(response.maximalAccess, 12)
  return body
}
