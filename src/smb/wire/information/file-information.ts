// The file information classes that QUERY_INFO supports, [MS-FSCC] 2.4, encoded from one set of facts.
import { encodeText } from '../body.ts'
import { fitInformation, refuseInformation } from './information.ts'
import type { Information, InformationClass } from './information.ts'
import { writeTimes, type OpenedFile } from '../opened-file.ts'
import type { NtStatusName } from '../status.ts'

export type FileFacts = OpenedFile & {
  /** From the share's root, without a leading backslash; "" is the root. */
  readonly path: string
  readonly isDirectory: boolean
  readonly fileId: bigint
  readonly volumeSerialNumber: bigint
  readonly numberOfLinks: number
  readonly deletePending: boolean
  /** The access mask, mode and position belong to the open. */
  readonly accessMask: number
  readonly mode: number
  readonly position: number
}

export const FILE_CLASSES: ReadonlyMap<number, InformationClass<FileFacts>> = new Map<
  number,
  InformationClass<FileFacts>
>([
  [4, { encode: encodeBasic }],
  [5, { encode: encodeStandard }],
  [6, { encode: (facts) => u64(facts.fileId) }],
  [7, { encode: () => u32(0) }],
  [8, { encode: (facts) => u32(facts.accessMask) }],
  [14, { encode: (facts) => u64(BigInt(facts.position)) }],
  [16, { encode: (facts) => u32(facts.mode) }],
  [17, { encode: () => u32(0) }],
  // The minimum of Windows is the size of the C structure, including the padding at its end.
  [18, { encode: encodeAll, lengthMin: 104 }],
  // Azure Files has no 8.3 names. Clients handle an empty alternate name better than an error.
  [21, { encode: () => encodeName(''), lengthMin: 8 }],
  [22, { encode: encodeStream, lengthMin: 32 }],
  [28, { encode: encodeCompression }],
  [34, { encode: encodeNetworkOpen }],
  [35, { encode: (facts) => Buffer.concat([u32(facts.fileAttributes), u32(0)]) }],
  [48, { encode: (facts) => encodeName(facts.path), lengthMin: 8 }],
  [59, { encode: encodeId }],
])

/** Azure Files has no extended attributes. */
const REFUSED: ReadonlyMap<number, NtStatusName> = new Map<number, NtStatusName>([
  [15, 'NO_EAS_ON_FILE'],
])

export function encodeFileInformation(
  informationClass: number,
  facts: FileFacts,
  outputMaxBytes: number,
): Information {
  const refused = REFUSED.get(informationClass)
  if (refused !== undefined) return refuseInformation(refused)
  const found = FILE_CLASSES.get(informationClass)
  if (found === undefined) return refuseInformation('INVALID_INFO_CLASS')
  return fitInformation(found, facts, outputMaxBytes)
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value, 0)
  return bytes
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value, 0)
  return bytes
}

function encodeBasic(facts: FileFacts): Buffer {
  const bytes = Buffer.alloc(40)
  writeTimes(bytes, 0, facts)
  bytes.writeUInt32LE(facts.fileAttributes, 32)
  return bytes
}

function encodeStandard(facts: FileFacts): Buffer {
  const bytes = Buffer.alloc(24)
  bytes.writeBigUInt64LE(BigInt(facts.allocationSize), 0)
  bytes.writeBigUInt64LE(BigInt(facts.endOfFile), 8)
  bytes.writeUInt32LE(facts.numberOfLinks, 16)
  bytes.writeUInt8(facts.deletePending ? 1 : 0, 20)
  bytes.writeUInt8(facts.isDirectory ? 1 : 0, 21)
  return bytes
}

/** [MS-FSCC] 2.4.2: Basic, Standard, Internal, Ea, Access, Position, Mode, Alignment and Name, concatenated. */
function encodeAll(facts: FileFacts): Buffer {
  const fixed = [encodeBasic(facts), encodeStandard(facts), u64(facts.fileId), u32(0)]
  const open = [u32(facts.accessMask), u64(BigInt(facts.position)), u32(facts.mode), u32(0)]
  return Buffer.concat([...fixed, ...open, encodeName(`\\${facts.path}`)])
}

function encodeName(name: string): Buffer {
  const text = encodeText(name)
  return Buffer.concat([u32(text.length), text])
}

/** The one unnamed stream; a directory has none. */
function encodeStream(facts: FileFacts): Buffer {
  if (facts.isDirectory) return Buffer.alloc(0)
  const name = encodeText('::$DATA')
  const sizes = [u64(BigInt(facts.endOfFile)), u64(BigInt(facts.allocationSize))]
  return Buffer.concat([u32(0), u32(name.length), ...sizes, name])
}

/** Files are never compressed, so the compressed size is the size. */
function encodeCompression(facts: FileFacts): Buffer {
  return Buffer.concat([u64(BigInt(facts.endOfFile)), Buffer.alloc(8)])
}

function encodeNetworkOpen(facts: FileFacts): Buffer {
  const bytes = Buffer.alloc(56)
  writeTimes(bytes, 0, facts)
  bytes.writeBigUInt64LE(BigInt(facts.allocationSize), 32)
  bytes.writeBigUInt64LE(BigInt(facts.endOfFile), 40)
  bytes.writeUInt32LE(facts.fileAttributes, 48)
  return bytes
}

/** The 128-bit id of FileIdInformation is the 64-bit id, extended with zeros. */
function encodeId(facts: FileFacts): Buffer {
  return Buffer.concat([u64(facts.volumeSerialNumber), u64(facts.fileId), u64(0n)])
}
