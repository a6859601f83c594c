// NDR (C706 chapter 14), the 32-bit little-endian transfer syntax: primitives are aligned to their own size from the
// start of the stub, strings are conformant and varying, and the target of a pointer follows the structure that contains it.
// Only what our interfaces need.
import { decodeSid, type Sid } from '../../storage/file/security/sid.ts'
import { FAULT, RpcFault } from './rpc-fault.ts'

export type NdrReader = { readonly bytes: Uint8Array; offset: number }

/** Far above any real name of a server, share or user. */
const STRING_CHARS_MAX = 4096
/** [MS-DTYP] 2.4.2.2 */
const SUB_AUTHORITY_COUNT_MAX = 15

export function ndrReader(bytes: Uint8Array): NdrReader {
  return { bytes, offset: 0 }
}

export function readU32(reader: NdrReader): number {
  const start = (reader.offset + 3) & ~3
  return Buffer.from(take(reader, start, 4)).readUInt32LE()
}

/** [string] wchar_t, without the terminating NUL. */
export function readString(reader: NdrReader): string {
  readU32(reader) // The maximum count.
  const first = readU32(reader)
  const countChars = readU32(reader)
  if (first !== 0 || countChars > STRING_CHARS_MAX) throw new RpcFault(FAULT.badStub)
  const text = Buffer.from(take(reader, reader.offset, 2 * countChars)).toString('utf16le')
  return text.replace(/\0.*$/s, '')
}

/** [unique, string] wchar_t*. */
export function readUniqueString(reader: NdrReader): string | undefined {
  return readU32(reader) === 0 ? undefined : readString(reader)
}

/** [unique] DWORD*. */
export function readUniqueU32(reader: NdrReader): number | undefined {
  return readU32(reader) === 0 ? undefined : readU32(reader)
}

/** `lengthBytes` bytes from the next 4-byte boundary on. */
export function readAlignedBytes(reader: NdrReader, lengthBytes: number): Uint8Array {
  return take(reader, (reader.offset + 3) & ~3, lengthBytes)
}

/** RPC_SID: the number of sub-authorities, followed by the SID in its usual form. */
export function readSid(reader: NdrReader): Sid {
  const count = readU32(reader)
  if (count > SUB_AUTHORITY_COUNT_MAX) throw new RpcFault(FAULT.badStub)
  const bytes = readAlignedBytes(reader, 8 + 4 * count)
  // A SID of another version, or whose own count differs from that of the array.
  if (bytes[0] !== 1 || bytes[1] !== count) throw new RpcFault(FAULT.badStub)
  return decodeSid(bytes)
}

function take(reader: NdrReader, start: number, lengthBytes: number): Uint8Array {
  const end = start + lengthBytes
  if (end > reader.bytes.length) throw new RpcFault(FAULT.badStub)
  reader.offset = end
  return reader.bytes.subarray(start, end)
}

/** A value to encode: `u32`, or a pointer to a string, where undefined is NULL. */
export type NdrField = number | { readonly text: string | undefined }

/** In two's complement, so that negative numbers (LONG) are encoded correctly. */
export function encodeU32(...values: readonly number[]): Uint8Array {
  return encodeWords(values)
}

function encodeWords(values: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, 4 * i)
  return bytes
}

/** Any nonzero number. All pointers may share it, since no two point to the same thing. */
export const REFERENT = 0x00020000

/** The structures, followed by what their pointers point to: an array, or a single structure. */
export function encodeStructures(structures: readonly (readonly NdrField[])[]): Uint8Array {
  const fields = structures.flat()
  const fixed = fields.map((field) => {
    if (typeof field === 'number') return field
    return field.text === undefined ? 0 : REFERENT
  })
  const texts = fields.flatMap((field) =>
    typeof field === 'number' || field.text === undefined ? [] : [encodeString(field.text)],
  )
  return Buffer.concat([encodeWords(fixed), ...texts])
}

/** Padded to 4 bytes, since whatever follows is 4-aligned. */
function encodeString(text: string): Uint8Array {
  const chars = Buffer.from(`${text}\0`, 'utf16le')
  const countChars = chars.length / 2
  const padding = Buffer.alloc(-chars.length & 3)
  return Buffer.concat([encodeU32(countChars, 0, countChars), chars, padding])
}

/** [in, out, unique] DWORD*: NULL stays NULL. */
export function encodeUniqueU32(value: number | undefined): Uint8Array {
  return value === undefined ? encodeU32(0) : encodeU32(REFERENT, value)
}
