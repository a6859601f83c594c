// The file system information classes, [MS-FSCC] 2.5: a share as a volume.
import { encodeText } from '../body.ts'
import { fitInformation, refuseInformation } from './information.ts'
import type { Information, InformationClass } from './information.ts'

export type VolumeFacts = {
  /** FILETIME. */
  readonly creationTime: bigint
  readonly serialNumber: number
  readonly label: string
  readonly objectId: Buffer
  readonly totalBytes: number
  readonly availableBytes: number
}

const BYTES_PER_SECTOR = 512
const SECTORS_PER_UNIT = 8
const UNIT_BYTES = BYTES_PER_SECTOR * SECTORS_PER_UNIT

const DEVICE_DISK = 7
const DEVICE_IS_MOUNTED = 0x20

/** Names keep their case and are Unicode; files have ACLs. Azure Files has none of the other attributes. */
const FILE_SYSTEM_ATTRIBUTES = 0x2 | 0x4 | 0x8
const NAME_MAX = 255
const FILE_SYSTEM_NAME = 'NTFS'
const NO_QUOTA = 0xffffffffffffffffn

export const VOLUME_CLASSES: ReadonlyMap<number, InformationClass<VolumeFacts>> = new Map<
  number,
  InformationClass<VolumeFacts>
>([
  [1, { encode: encodeVolume, lengthMin: 24 }],
  [3, { encode: encodeSize }],
  [4, { encode: encodeDevice }],
  [5, { encode: encodeAttribute, lengthMin: 16 }],
  [6, { encode: encodeControl }],
  [7, { encode: encodeFullSize }],
  [8, { encode: encodeObjectId }],
  [11, { encode: encodeSectorSize }],
])

export function encodeVolumeInformation(
  informationClass: number,
  facts: VolumeFacts,
  outputMaxBytes: number,
): Information {
  const found = VOLUME_CLASSES.get(informationClass)
  if (found === undefined) return refuseInformation('INVALID_INFO_CLASS')
  return fitInformation(found, facts, outputMaxBytes)
}

function encodeVolume(facts: VolumeFacts): Buffer {
  const label = encodeText(facts.label)
  const head = Buffer.alloc(18)
  head.writeBigUInt64LE(facts.creationTime, 0)
  head.writeUInt32LE(facts.serialNumber, 8)
  head.writeUInt32LE(label.length, 12)
  return Buffer.concat([head, label])
}

function units(lengthBytes: number): bigint {
  return BigInt(Math.floor(lengthBytes / UNIT_BYTES))
}

function encodeSize(facts: VolumeFacts): Buffer {
  const bytes = Buffer.alloc(24)
  bytes.writeBigUInt64LE(units(facts.totalBytes), 0)
  bytes.writeBigUInt64LE(units(facts.availableBytes), 8)
  bytes.writeUInt32LE(SECTORS_PER_UNIT, 16)
  bytes.writeUInt32LE(BYTES_PER_SECTOR, 20)
  return bytes
}

function encodeDevice(): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32LE(DEVICE_DISK, 0)
  bytes.writeUInt32LE(DEVICE_IS_MOUNTED, 4)
  return bytes
}

function encodeAttribute(): Buffer {
  const name = encodeText(FILE_SYSTEM_NAME)
  const head = Buffer.alloc(12)
  head.writeUInt32LE(FILE_SYSTEM_ATTRIBUTES, 0)
  head.writeUInt32LE(NAME_MAX, 4)
  head.writeUInt32LE(name.length, 8)
  return Buffer.concat([head, name])
}

/** [MS-FSCC] 2.5.2: there are no quotas, and the two defaults mean "no limit". */
function encodeControl(): Buffer {
  const bytes = Buffer.alloc(48)
  bytes.writeBigUInt64LE(NO_QUOTA, 24)
  bytes.writeBigUInt64LE(NO_QUOTA, 32)
  return bytes
}

function encodeFullSize(facts: VolumeFacts): Buffer {
  const bytes = Buffer.alloc(32)
  bytes.writeBigUInt64LE(units(facts.totalBytes), 0)
  bytes.writeBigUInt64LE(units(facts.availableBytes), 8)
  bytes.writeBigUInt64LE(units(facts.availableBytes), 16)
  bytes.writeUInt32LE(SECTORS_PER_UNIT, 24)
  bytes.writeUInt32LE(BYTES_PER_SECTOR, 28)
  return bytes
}

function encodeObjectId(facts: VolumeFacts): Buffer {
  const bytes = Buffer.alloc(64)
  facts.objectId.copy(bytes, 0, 0, 16)
  return bytes
}

/** [MS-FSCC] 2.5.8: all sectors have the same size, and device and partition are aligned (flags 1 and 2). */
function encodeSectorSize(): Buffer {
  const bytes = Buffer.alloc(28)
  for (const at of [0, 4, 8, 12]) bytes.writeUInt32LE(BYTES_PER_SECTOR, at)
  bytes.writeUInt32LE(3, 16)
  return bytes
}
