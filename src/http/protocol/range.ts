// Decodes the range of a request: `x-ms-range` or, if that is missing, `Range`. Azure accepts `bytes=a-b` and
// `bytes=a-`. Any other form is ignored in Range, as in HTTP, and an error in x-ms-range, which is Azure's own.
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { invalidHeader, missingHeader, StorageError } from '../../storage/shared/error.ts'
import { optionalBoolean, optionalHeader, type HeaderFields } from './header.ts'

const RANGE = /^bytes=(\d{1,19})-(\d{0,19})$/i
/** Before this version a range needed its end. */
const OPEN_RANGE_SINCE = '2011-08-18'
const HASHED_RANGE_LENGTH_MAX = 4 * 1024 * 1024

/** The requested range of `lengthBytes` bytes; undefined for all of them. */
export function decodeRange(
  headers: HeaderFields,
  version: string,
  lengthBytes: number,
): ByteRange | undefined {
  const own = optionalHeader(headers, 'x-ms-range')
  const text = own ?? optionalHeader(headers, 'range')
  if (text === undefined) return undefined
  const range = parseRange(text)
  if (range === undefined) {
    if (own === undefined) return undefined
    throw invalidHeader('x-ms-range', text)
  }
  if (range.to === Infinity && version < OPEN_RANGE_SINCE) return undefined
  if (range.from >= lengthBytes) {
    throw new StorageError('InvalidRange', { 'Content-Range': `bytes */${lengthBytes}` })
  }
  return { from: range.from, to: Math.min(range.to, lengthBytes) }
}

/** Put Page and Put Range need both ends; the resource checks them against its limits. */
export function decodeWriteRange(headers: HeaderFields): ByteRange {
  const own = optionalHeader(headers, 'x-ms-range')
  const text = own ?? optionalHeader(headers, 'range')
  if (text === undefined) throw missingHeader('x-ms-range')
  const range = parseRange(text)
  if (range === undefined || !Number.isSafeInteger(range.to)) {
    throw invalidHeader(own === undefined ? 'Range' : 'x-ms-range', text)
  }
  return range
}

function parseRange(text: string): ByteRange | undefined {
  const match = RANGE.exec(text.trim())
  if (match === null) return undefined
  const from = Number(match[1])
  const to = match[2] === '' ? Infinity : Number(match[2]) + 1
  return from < to ? { from, to } : undefined
}

type RangeHash = 'md5' | 'crc64'

const MD5_HEADER = 'x-ms-range-get-content-md5'
const CRC64_HEADER = 'x-ms-range-get-content-crc64'

/** On request, Get Blob hashes the bytes it returns: with one hash, and a range of at most 4 MiB. */
export function decodeRangeHash(
  headers: HeaderFields,
  range: ByteRange | undefined,
): RangeHash | undefined {
  const md5 = optionalBoolean(headers, MD5_HEADER) === true
  const crc64 = optionalBoolean(headers, CRC64_HEADER) === true
  if (!md5 && !crc64) return undefined
  const isShort = range !== undefined && range.to - range.from <= HASHED_RANGE_LENGTH_MAX
  if (md5 && crc64) throw new StorageError('BothCrc64AndMd5RangeHeaderPresent')
  if (!isShort) throw invalidHeader(md5 ? MD5_HEADER : CRC64_HEADER, 'true')
  return md5 ? 'md5' : 'crc64'
}

export function contentRange(range: ByteRange, lengthBytes: number): string {
  return `bytes ${range.from}-${range.to - 1}/${lengthBytes}`
}
