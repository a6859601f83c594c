// QUERY_INFO, [MS-SMB2] 2.2.37 and 2.2.38. file-information.ts and volume-information.ts encode the classes.
import { checkBody, encodeOutputBuffer, HEADER_BYTES, variablePart } from '../body.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

export const INFORMATION_TYPE = { file: 1, fileSystem: 2, security: 3, quota: 4 } as const

export const SECURITY_PART = { owner: 1, group: 2, dacl: 4, sacl: 8 } as const

export type QueryInfoRequest = {
  /** One of INFORMATION_TYPE. */
  readonly type: number
  readonly informationClass: number
  readonly outputMaxBytes: number
  readonly input: Buffer
  /** For security: bits of SECURITY_PART. */
  readonly additionalInformation: number
  readonly flags: number
  readonly fileId: FileId
}

export function decodeQueryInfoRequest(message: Buffer): QueryInfoRequest {
  checkBody(message, 41)
  return {
    type: message.readUInt8(HEADER_BYTES + 2),
    informationClass: message.readUInt8(HEADER_BYTES + 3),
    outputMaxBytes: message.readUInt32LE(HEADER_BYTES + 4),
    input: variablePart(message, 41, {
      offset: message.readUInt16LE(HEADER_BYTES + 8),
      lengthBytes: message.readUInt32LE(HEADER_BYTES + 12),
    }),
    additionalInformation: message.readUInt32LE(HEADER_BYTES + 16),
    flags: message.readUInt32LE(HEADER_BYTES + 20),
    fileId: decodeFileId(message, HEADER_BYTES + 24),
  }
}

export function encodeQueryInfoResponse(output: Buffer): Buffer {
  return encodeOutputBuffer(output)
}
