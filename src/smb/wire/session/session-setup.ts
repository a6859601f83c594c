// SESSION_SETUP, [MS-SMB2] 2.2.5 and 2.2.6. The security buffer (SPNEGO or raw NTLMSSP) is not decoded here.
import { checkBody, HEADER_BYTES, variablePart } from '../body.ts'

export const SESSION_SETUP_FLAG = { binding: 1 } as const
export const SESSION_FLAG = { guest: 1, null: 2, encryptData: 4 } as const

export type SessionSetupRequest = {
  readonly flags: number
  readonly securityMode: number
  readonly capabilities: number
  readonly securityBuffer: Buffer
  readonly previousSessionId: bigint
}

export function decodeSessionSetupRequest(message: Buffer): SessionSetupRequest {
  checkBody(message, 25)
  return {
    flags: message.readUInt8(HEADER_BYTES + 2),
    securityMode: message.readUInt8(HEADER_BYTES + 3),
    capabilities: message.readUInt32LE(HEADER_BYTES + 4),
    securityBuffer: variablePart(message, 25, {
      offset: message.readUInt16LE(HEADER_BYTES + 12),
      lengthBytes: message.readUInt16LE(HEADER_BYTES + 14),
    }),
    previousSessionId: message.readBigUInt64LE(HEADER_BYTES + 16),
  }
}

export type SessionSetupResponse = {
  readonly sessionFlags: number
  readonly securityBuffer: Buffer
}

export function encodeSessionSetupResponse(response: SessionSetupResponse): Buffer {
  const fixed = Buffer.alloc(8)
  fixed.writeUInt16LE(9, 0)
  fixed.writeUInt16LE(response.sessionFlags, 2)
  fixed.writeUInt16LE(HEADER_BYTES + fixed.length, 4)
  fixed.writeUInt16LE(response.securityBuffer.length, 6)
  return Buffer.concat([fixed, response.securityBuffer])
}
