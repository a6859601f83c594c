// IOCTL, [MS-SMB2] 2.2.31 and 2.2.32. fsctl.ts has the inputs and outputs.
import { checkBody, HEADER_BYTES, variablePart } from '../body.ts'
import { decodeFileId, writeFileId, type FileId } from '../file-id.ts'

const IS_FSCTL = 1
const RESPONSE_HEAD_BYTES = 48

export type IoctlRequest = {
  readonly ctlCode: number
  readonly fileId: FileId
  readonly input: Buffer
  readonly outputMaxBytes: number
  /** False for a device IOCTL, which servers do not support. */
  readonly isFsctl: boolean
}

export function decodeIoctlRequest(message: Buffer): IoctlRequest {
  checkBody(message, 57)
  return {
    ctlCode: message.readUInt32LE(HEADER_BYTES + 4),
    fileId: decodeFileId(message, HEADER_BYTES + 8),
    input: variablePart(message, 57, {
      offset: message.readUInt32LE(HEADER_BYTES + 24),
      lengthBytes: message.readUInt32LE(HEADER_BYTES + 28),
    }),
    outputMaxBytes: message.readUInt32LE(HEADER_BYTES + 44),
    isFsctl: message.readUInt32LE(HEADER_BYTES + 48) === IS_FSCTL,
  }
}

export type IoctlResponse = {
  readonly ctlCode: number
  readonly fileId: FileId
  readonly output: Buffer
}

export function encodeIoctlResponse(response: IoctlResponse): Buffer {
  const head = Buffer.alloc(RESPONSE_HEAD_BYTES)
  head.writeUInt16LE(49, 0)
  head.writeUInt32LE(response.ctlCode, 4)
  writeFileId(head, 8, response.fileId)
  // Both offsets point to the output, since no input is returned.
  head.writeUInt32LE(HEADER_BYTES + RESPONSE_HEAD_BYTES, 24)
  head.writeUInt32LE(HEADER_BYTES + RESPONSE_HEAD_BYTES, 32)
  head.writeUInt32LE(response.output.length, 36)
  return Buffer.concat([head, response.output])
}
