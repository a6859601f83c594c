// QUERY_DIRECTORY, [MS-SMB2] 2.2.33 and 2.2.34. directory-entry.ts encodes the entries.
import { checkBody, decodeText, encodeOutputBuffer, HEADER_BYTES, variablePart } from '../body.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

export const QUERY_DIRECTORY_FLAG = {
  restartScans: 0x01,
  returnSingleEntry: 0x02,
  indexSpecified: 0x04,
  reopen: 0x10,
} as const

export type QueryDirectoryRequest = {
  readonly informationClass: number
  readonly flags: number
  readonly fileIndex: number
  readonly fileId: FileId
  readonly pattern: string
  readonly outputMaxBytes: number
}

export function decodeQueryDirectoryRequest(message: Buffer): QueryDirectoryRequest {
  checkBody(message, 33)
  return {
    informationClass: message.readUInt8(HEADER_BYTES + 2),
    flags: message.readUInt8(HEADER_BYTES + 3),
    fileIndex: message.readUInt32LE(HEADER_BYTES + 4),
    fileId: decodeFileId(message, HEADER_BYTES + 8),
    pattern: decodeText(
      variablePart(message, 33, {
        offset: message.readUInt16LE(HEADER_BYTES + 24),
        lengthBytes: message.readUInt16LE(HEADER_BYTES + 26),
      }),
    ),
    outputMaxBytes: message.readUInt32LE(HEADER_BYTES + 28),
  }
}

export function encodeQueryDirectoryResponse(entries: Buffer): Buffer {
  return encodeOutputBuffer(entries)
}
