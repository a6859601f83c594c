// Binary request bodies, written from the description of their format. Except for the CRC-64 they do not use the code
// under test, so that a mistake in one of them shows.
import { crc64Hasher } from '../src/extent/hash/hash.ts'

/** A structured message (x-ms-structured-body) with content of this length. */
export function structuredMessage(contentBytes: number, segmentBytes: number): Buffer {
  const content = Buffer.alloc(contentBytes, 'structured ')
  const count = Math.ceil(contentBytes / segmentBytes)
  const parts: Buffer[] = []
  for (let number = 1; number <= count; number += 1) {
    const segment = content.subarray((number - 1) * segmentBytes, number * segmentBytes)
    const head = Buffer.alloc(10)
    head.writeUInt16LE(number)
    head.writeBigUInt64LE(BigInt(segment.length), 2)
    parts.push(head, segment, crc64(segment))
  }
  const body = Buffer.concat([...parts, crc64(content)])
  const head = Buffer.alloc(13)
  head.writeUInt8(1)
  head.writeBigUInt64LE(BigInt(head.length + body.length), 1)
  head.writeUInt16LE(1, 9)
  head.writeUInt16LE(count, 11)
  return Buffer.concat([head, body])
}

export function crc64(bytes: Uint8Array): Buffer {
  const hasher = crc64Hasher()
  hasher.update(bytes)
  return Buffer.from(hasher.digest())
}
