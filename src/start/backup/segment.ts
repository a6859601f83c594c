// The content of a backup: a file has slices of one extent. u32 length of the header (little-endian), the header as JSON, then
// the bytes of the slices in its order.
import { crc32 } from 'node:zlib'
import type { Slice } from '../../extent/content/slice.ts'
import { BackupDamaged, type BackupFiles } from './files.ts'
import { isCount, segmentName, type SegmentEntry } from './manifest.ts'

/** Where a slice is in a file of a backup. */
export type StoredSlice = {
  readonly slice: Slice
  readonly file: string
  readonly position: number
}

export type Segment = {
  readonly entry: SegmentEntry
  readonly storeId: string
  readonly slices: readonly StoredSlice[]
}

type Header = {
  readonly storeId: string
  readonly extent: number
  /** Offset, length, CRC-32 of each. */
  readonly slices: readonly (readonly [number, number, number])[]
}

/** A header of more bytes would describe millions of slices, which no extent has. */
const HEADER_BYTES_MAX = 256 * 1_024 * 1_024
const NAME = /^extents\/(([0-9a-f]{14})-[0-9a-f]{16})\.slices$/
const READ_BYTES = 1_024 * 1_024

/** `run` has 16 hexadecimal digits, and makes the name unique. */
export function newSegmentName(extent: number, run: string): string {
  return `${extent.toString(16).padStart(14, '0')}-${run}`
}

/** The extent and the name of a segment; undefined if the file is none. */
export function decodeSegmentName(file: string) {
  const [, name, extent] = NAME.exec(file) ?? []
  if (name === undefined || extent === undefined) return undefined
  return { name, extent: Number.parseInt(extent, 16) }
}

export function encodeHeader(storeId: string, extent: number, slices: readonly Slice[]): Buffer {
  const header: Header = {
    storeId,
    extent,
    slices: slices.map(({ offset, lengthBytes, crc32: crc }) => [offset, lengthBytes, crc]),
  }
  const json = Buffer.from(JSON.stringify(header))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32LE(json.length, 0)
  return Buffer.concat([length, json])
}

/** Throws BackupDamaged. */
export async function readSegment(
  files: BackupFiles,
  { name, extent }: Pick<SegmentEntry, 'name' | 'extent'>,
): Promise<Segment> {
  const file = segmentName({ name })
  const headerBytes = (await files.read(file, 0, 4)).readUInt32LE(0)
  if (headerBytes > HEADER_BYTES_MAX) throw new BackupDamaged(`${file} has no header`)
  const header = decodeHeader(await files.read(file, 4, headerBytes), file)
  if (header.extent !== extent) throw new BackupDamaged(`${file} is of extent ${header.extent}`)
  let position = 4 + headerBytes
  const slices = header.slices.map(([offset, lengthBytes, crc]): StoredSlice => {
    const stored = { slice: { extent, offset, lengthBytes, crc32: crc }, file, position }
    position += lengthBytes
    return stored
  })
  return { entry: { name, extent, lengthBytes: position }, storeId: header.storeId, slices }
}

function decodeHeader(bytes: Buffer, file: string): Header {
  try {
    const header: unknown = JSON.parse(String(bytes))
    if (isHeader(header)) return header
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new BackupDamaged(`${file} has no header`)
}

function isHeader(value: unknown): value is Header {
  if (typeof value !== 'object' || value === null) return false
  const { storeId, extent, slices }: Partial<Header> = value
  if (typeof storeId !== 'string' || !isCount(extent) || !Array.isArray(slices)) return false
  return slices.every((slice) => Array.isArray(slice) && slice.length === 3 && slice.every(isCount))
}

/** Reads the bytes and compares their CRC-32. Throws BackupDamaged. */
export async function checkSlice(files: BackupFiles, stored: StoredSlice): Promise<void> {
  const { slice, file, position } = stored
  let crc = 0
  for (let at = 0; at < slice.lengthBytes; at += READ_BYTES) {
    const count = Math.min(READ_BYTES, slice.lengthBytes - at)
    crc = crc32(await files.read(file, position + at, count), crc)
  }
  if (crc === slice.crc32) return
  throw new BackupDamaged(
    `${file}: ${slice.lengthBytes} bytes at ${slice.offset} of extent ${slice.extent} have CRC-32 ${crc} instead of ${slice.crc32}`,
  )
}
