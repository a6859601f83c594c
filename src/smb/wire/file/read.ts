// READ, [MS-SMB2] 2.2.19 and 2.2.20. The response has two pieces, so that the bytes of the file go to the socket without
// a copy.
import { checkBody, clampToNumber, decodePositive, HEADER_BYTES } from '../body.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

export type ReadRequest = {
  readonly flags: number
  readonly lengthBytes: number
  /** `offsetExact`, clamped to BEYOND_ANY_FILE. */
  readonly offset: number
  readonly offsetExact: bigint
  readonly fileId: FileId
  readonly minimumCount: number
  /** Nonzero requests RDMA, which is not offered. */
  readonly channel: number
}

export function decodeReadRequest(message: Buffer): ReadRequest {
  checkBody(message, 49)
  const offsetExact = decodePositive(message, HEADER_BYTES + 8)
  return {
    flags: message.readUInt8(HEADER_BYTES + 3),
    lengthBytes: message.readUInt32LE(HEADER_BYTES + 4),
    offset: clampToNumber(offsetExact),
    offsetExact,
    fileId: decodeFileId(message, HEADER_BYTES + 16),
    minimumCount: message.readUInt32LE(HEADER_BYTES + 32),
    channel: message.readUInt32LE(HEADER_BYTES + 36),
  }
}

const READ_RESPONSE_HEAD_BYTES = 16

/** The part before the bytes of the file, which start 80 bytes after the start of the header. */
export function encodeReadResponseHead(contentBytes: number): Buffer {
  const head = Buffer.alloc(READ_RESPONSE_HEAD_BYTES)
  head.writeUInt16LE(17, 0)
  head.writeUInt8(HEADER_BYTES + READ_RESPONSE_HEAD_BYTES, 2)
  head.writeUInt32LE(contentBytes, 4)
  return head
}
