// SET_INFO, [MS-SMB2] 2.2.39 and 2.2.40, and the file classes that can be set, [MS-FSCC] 2.4. A buffer shorter than its
// class is INFO_LENGTH_MISMATCH, [MS-FSA] 2.1.5.15.
import {
  checkBody,
  clampToNumber,
  decodePositive,
  decodeText,
  HEADER_BYTES,
  variablePart,
} from '../body.ts'
import { WireError } from '../error.ts'
import { decodeFileId, type FileId } from '../file-id.ts'

export type SetInfoRequest = {
  /** One of INFORMATION_TYPE. */
  readonly type: number
  readonly informationClass: number
  readonly input: Buffer
  readonly additionalInformation: number
  readonly fileId: FileId
}

export function decodeSetInfoRequest(message: Buffer): SetInfoRequest {
  checkBody(message, 33)
  return {
    type: message.readUInt8(HEADER_BYTES + 2),
    informationClass: message.readUInt8(HEADER_BYTES + 3),
    input: variablePart(message, 33, {
      offset: message.readUInt16LE(HEADER_BYTES + 8),
      lengthBytes: message.readUInt32LE(HEADER_BYTES + 4),
    }),
    additionalInformation: message.readUInt32LE(HEADER_BYTES + 12),
    fileId: decodeFileId(message, HEADER_BYTES + 16),
  }
}

export function encodeSetInfoResponse(): Buffer {
  return Buffer.from([2, 0])
}

/** A FILETIME, or the meaning of 0, -1 and -2. */
export type FiletimeChange = bigint | 'leave' | 'freeze' | 'resume'

export type FileRenameInformation = {
  readonly replaceIfExists: boolean
  readonly posixSemantics: boolean
  /** Relative to the share's root. */
  readonly name: string
}

export type FileChange =
  | {
      readonly kind: 'basic'
      readonly creationTime: FiletimeChange
      readonly lastAccessTime: FiletimeChange
      readonly lastWriteTime: FiletimeChange
      readonly changeTime: FiletimeChange
      /** Zero leaves them unchanged. */
      readonly fileAttributes: number
    }
  | (FileRenameInformation & { readonly kind: 'rename' | 'link' })
  | {
      readonly kind: 'disposition'
      readonly deletePending: boolean
      readonly posixSemantics: boolean
      readonly ignoreReadOnly: boolean
    }
  /** `size` is `exact`, clamped to BEYOND_ANY_FILE. */
  | {
      readonly kind: 'position' | 'allocation' | 'endOfFile'
      readonly size: number
      readonly exact: bigint
    }
  | { readonly kind: 'mode'; readonly mode: number }

type Decode = (input: Buffer) => FileChange

/** By FileInformationClass, with the minimum length of each. */
export const CLASSES: ReadonlyMap<number, readonly [lengthMin: number, decode: Decode]> = new Map<
  number,
  readonly [number, Decode]
>([
  [4, [40, decodeBasic]],
  [10, [20, (input) => ({ kind: 'rename', ...decodeRename(input) })]],
  [11, [20, (input) => ({ kind: 'link', ...decodeRename(input) })]],
  [13, [1, decodeDisposition]],
  [14, [8, (input) => ({ kind: 'position', ...decodeSize(input) })]],
  [16, [4, (input) => ({ kind: 'mode', mode: input.readUInt32LE(0) })]],
  [19, [8, (input) => ({ kind: 'allocation', ...decodeSize(input) })]],
  [20, [8, (input) => ({ kind: 'endOfFile', ...decodeSize(input) })]],
  [64, [4, decodeDispositionEx]],
  [65, [20, (input) => ({ kind: 'rename', ...decodeRenameEx(input) })]],
])

const FILE_FULL_EA_INFORMATION = 15

export function decodeFileChange(informationClass: number, input: Buffer): FileChange {
  if (informationClass === FILE_FULL_EA_INFORMATION) throw new WireError('EAS_NOT_SUPPORTED')
  const found = CLASSES.get(informationClass)
  if (found === undefined) throw new WireError('INVALID_INFO_CLASS')
  const [lengthMin, decode] = found
  if (input.length < lengthMin) throw new WireError('INFO_LENGTH_MISMATCH')
  return decode(input)
}

function decodeBasic(input: Buffer): FileChange {
  return {
    kind: 'basic',
    creationTime: decodeTime(input, 0),
    lastAccessTime: decodeTime(input, 8),
    lastWriteTime: decodeTime(input, 16),
    changeTime: decodeTime(input, 24),
    fileAttributes: input.readUInt32LE(32),
  }
}

/** [MS-FSCC] 2.4.7: -1 stops updates of this time by this handle, -2 resumes them. */
function decodeTime(input: Buffer, at: number): FiletimeChange {
  const time = input.readBigInt64LE(at)
  if (time < -2n) throw new WireError('INVALID_PARAMETER')
  if (time === 0n) return 'leave'
  if (time === -1n) return 'freeze'
  return time === -2n ? 'resume' : time
}

function decodeRename(input: Buffer): FileRenameInformation {
  return { replaceIfExists: input.readUInt8(0) !== 0, posixSemantics: false, name: nameOf(input) }
}

const REPLACE_IF_EXISTS = 1
const POSIX_SEMANTICS = 2

function decodeRenameEx(input: Buffer): FileRenameInformation {
  const flags = input.readUInt32LE(0)
  return {
    replaceIfExists: (flags & REPLACE_IF_EXISTS) !== 0,
    posixSemantics: (flags & POSIX_SEMANTICS) !== 0,
    name: nameOf(input),
  }
}

function nameOf(input: Buffer): string {
  // RootDirectory: a handle has no meaning on the wire, so it must be zero.
  if (input.readBigUInt64LE(8) !== 0n) throw new WireError('INVALID_PARAMETER')
  const end = 20 + input.readUInt32LE(16)
  if (end === 20 || end > input.length) throw new WireError('INVALID_PARAMETER')
  return decodeText(input.subarray(20, end))
}

function decodeDisposition(input: Buffer): FileChange {
  const deletePending = input.readUInt8(0) !== 0
  return { kind: 'disposition', deletePending, posixSemantics: false, ignoreReadOnly: false }
}

const DISPOSITION_DELETE = 1
const DISPOSITION_IGNORE_READONLY = 0x10

function decodeDispositionEx(input: Buffer): FileChange {
  const flags = input.readUInt32LE(0)
  return {
    kind: 'disposition',
    deletePending: (flags & DISPOSITION_DELETE) !== 0,
    posixSemantics: (flags & POSIX_SEMANTICS) !== 0,
    ignoreReadOnly: (flags & DISPOSITION_IGNORE_READONLY) !== 0,
  }
}

function decodeSize(input: Buffer): { readonly size: number; readonly exact: bigint } {
  const exact = decodePositive(input, 0)
  return { size: clampToNumber(exact), exact }
}
