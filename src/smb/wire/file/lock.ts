// LOCK, [MS-SMB2] 2.2.26. The command checks the combinations of flags. Ranges are any u64, since locks far beyond any
// file are legal and used as signals.
import { checkBody, checkRoom, HEADER_BYTES } from '../body.ts'
import { WireError } from '../error.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

export const LOCK_FLAG = { shared: 1, exclusive: 2, unlock: 4, failImmediately: 0x10 } as const

export type Smb2LockElement = {
  readonly offset: bigint
  readonly length: bigint
  readonly flags: number
}

export type LockRequest = {
  readonly fileId: FileId
  /** The low four bits of LockSequence, and the index above them (valid: 1 to 64). */
  readonly sequenceNumber: number
  readonly sequenceIndex: number
  readonly locks: readonly Smb2LockElement[]
}

const ELEMENTS_AT = HEADER_BYTES + 24
const ELEMENT_BYTES = 24

export function decodeLockRequest(message: Buffer): LockRequest {
  checkBody(message, 48)
  const count = message.readUInt16LE(HEADER_BYTES + 2)
  if (count === 0) throw new WireError('INVALID_PARAMETER')
  checkRoom(message, ELEMENTS_AT + count * ELEMENT_BYTES)
  const sequence = message.readUInt32LE(HEADER_BYTES + 4)
  return {
    fileId: decodeFileId(message, HEADER_BYTES + 8),
    sequenceNumber: sequence & 0xf,
    sequenceIndex: sequence >>> 4,
    locks: Array.from({ length: count }, (_, index) =>
      decodeElement(message, ELEMENTS_AT + index * ELEMENT_BYTES),
    ),
  }
}

function decodeElement(message: Buffer, at: number): Smb2LockElement {
  return {
    offset: message.readBigUInt64LE(at),
    length: message.readBigUInt64LE(at + 8),
    flags: message.readUInt32LE(at + 16),
  }
}
