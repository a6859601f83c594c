// WRITE, [MS-SMB2] 2.2.21 and 2.2.22. The payload is a view of the message.
import { checkBody, clampToNumber, decodePositive, HEADER_BYTES, variablePart } from '../body.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

const END_OF_FILE_OFFSET = 0xffffffffffffffffn

export type WriteRequest = {
  /** The offset was all ones: write at the end of the file. The decoded offset is then 0. */
  readonly append: boolean
  /** `offsetExact`, clamped to BEYOND_ANY_FILE. */
  readonly offset: number
  readonly offsetExact: bigint
  readonly content: Buffer
  readonly fileId: FileId
  readonly channel: number
  readonly flags: number
}

export function decodeWriteRequest(message: Buffer): WriteRequest {
  checkBody(message, 49)
  const append = message.readBigUInt64LE(HEADER_BYTES + 8) === END_OF_FILE_OFFSET
  const offsetExact = append ? 0n : decodePositive(message, HEADER_BYTES + 8)
  return {
    append,
    offset: clampToNumber(offsetExact),
    offsetExact,
    content: variablePart(message, 49, {
      offset: message.readUInt16LE(HEADER_BYTES + 2),
      lengthBytes: message.readUInt32LE(HEADER_BYTES + 4),
    }),
    fileId: decodeFileId(message, HEADER_BYTES + 16),
    channel: message.readUInt32LE(HEADER_BYTES + 32),
    flags: message.readUInt32LE(HEADER_BYTES + 44),
  }
}

export function encodeWriteResponse(countBytes: number): Buffer {
  const body = Buffer.alloc(16)
  body.writeUInt16LE(17, 0)
  body.writeUInt32LE(countBytes, 4)
  return body
}
