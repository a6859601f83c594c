// Bytes of an extent as rows of its table: `at`, the offset in the extent, and `bytes`. In the format of COPY. A body is cut
// into rows that fill a page each; only its last row, and the last one of each piece in which it arrives, may be shorter.
import { COPY_HEADER, COPY_TRAILER } from '../../postgres/copy.ts'
import type { Span } from '../reader.ts'

/** As long as a page of 8 KiB has room for: 24 bytes of it are the page's, 4 point to the row, and 36 are its head. */
export const ROW_BYTES_MAX = 8_120

/** i16 2, i32 8, i64 at, i32 length */
const HEAD_BYTES = 18

/** Consecutive bytes of an extent. */
export type Rows = {
  readonly at: number
  readonly chunks: readonly Uint8Array[]
  readonly lengthBytes: number
}

export function rowsOf(at: number, chunks: readonly Uint8Array[]): Rows {
  const lengthBytes = chunks.reduce((total, chunk) => total + chunk.length, 0)
  return { at, chunks, lengthBytes }
}

/** The length of the input for COPY. */
export function copiedBytes(all: readonly Rows[]): number {
  let total = COPY_HEADER.length + COPY_TRAILER.length
  for (const { lengthBytes } of all) {
    total += lengthBytes + Math.ceil(lengthBytes / ROW_BYTES_MAX) * HEAD_BYTES
  }
  return total
}

/** Writes the input for COPY … FROM into `target`. */
export function encodeRows(all: readonly Rows[], target: Buffer): void {
  let end = COPY_HEADER.copy(target)
  for (const rows of all) end = encodeBody(rows, target, end)
  COPY_TRAILER.copy(target, end)
}

function encodeBody({ at, chunks, lengthBytes }: Rows, target: Buffer, start: number) {
  let end = start
  /** Bytes until the next row begins. */
  let room = 0
  let written = 0
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      if (room === 0) {
        room = Math.min(ROW_BYTES_MAX, lengthBytes - written)
        end = encodeHead(target, end, at + written, room)
      }
      const part = chunk.subarray(from, from + room)
      target.set(part, end)
      end += part.length
      from += part.length
      room -= part.length
      written += part.length
    }
  }
  return end
}

function encodeHead(target: Buffer, start: number, at: number, lengthBytes: number): number {
  let end = target.writeInt16BE(2, start)
  end = target.writeInt32BE(8, end)
  end = target.writeInt32BE(Math.floor(at / 2 ** 32), end)
  end = target.writeUInt32BE(at >>> 0, end)
  return target.writeInt32BE(lengthBytes, end)
}

/** The first field of a row: a bigint up to 2^53. */
export function copiedBigint(row: Buffer): number {
  return row.readInt32BE(6) * 2 ** 32 + row.readUInt32BE(10)
}

/** Puts the rows of a span into a buffer as they arrive. */
export class SpanFill {
  readonly #offset: number
  readonly #buffer: Uint8Array
  #filled = 0

  constructor({ offset, lengthBytes }: Span, buffer: Uint8Array) {
    this.#offset = offset
    this.#buffer = buffer.subarray(0, lengthBytes)
  }

  /** How many bytes there are without a gap. */
  get filledBytes(): number {
    return this.#filled
  }

  add(row: Buffer): void {
    const at = copiedBigint(row)
    const bytes = row.subarray(HEAD_BYTES)
    const from = this.#offset + this.#filled - at
    // It ends before the span, or begins after a gap.
    if (from < 0 || from >= bytes.length) return
    const part = bytes.subarray(from, from + this.#buffer.length - this.#filled)
    this.#buffer.set(part, this.#filled)
    this.#filled += part.length
  }
}
