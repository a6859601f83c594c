// Inputs and outputs of the FSCTLs, [MS-SMB2] 2.2.31 and 2.2.32 and [MS-FSCC] 2.3.
import { checkRoom, decodePositive, decodeText, encodeText } from '../body.ts'
import { WireError } from '../error.ts'
import type { NtStatusName } from '../status.ts'

export const FSCTL = {
  dfsGetReferrals: 0x00060194,
  getCompression: 0x0009003c,
  queryAllocatedRanges: 0x000940cf,
  setZero: 0x000980c8,
  setCompression: 0x0009c040,
  pipeWait: 0x00110018,
  pipePeek: 0x0011400c,
  pipeTransceive: 0x0011c017,
  srvRequestResumeKey: 0x00140078,
  lmrRequestResiliency: 0x001401d4,
  createOrGetObjectId: 0x000900c0,
  queryNetworkInterface: 0x001401fc,
  validateNegotiate: 0x00140204,
  srvEnumerateSnapshots: 0x00144064,
  srvCopyChunk: 0x001440f2,
  srvCopyChunkWrite: 0x001480f2,
} as const

export const RESUME_KEY_BYTES = 24

/** The key that names the source of COPYCHUNK, and an empty context, for which Windows leaves four bytes. */
export function encodeResumeKey(resumeKey: Buffer): Buffer {
  const output = Buffer.alloc(RESUME_KEY_BYTES + 8)
  resumeKey.copy(output, 0, 0, RESUME_KEY_BYTES)
  return output
}

export type CopyChunk = {
  readonly sourceOffset: bigint
  readonly targetOffset: bigint
  readonly lengthBytes: number
}

export type CopyChunkRequest = { readonly sourceKey: Buffer; readonly chunks: readonly CopyChunk[] }

const CHUNK_BYTES = 24

/** Offsets are any u64; the command checks them against the files. */
export function decodeCopyChunk(input: Buffer): CopyChunkRequest {
  checkRoom(input, 32)
  const count = input.readUInt32LE(RESUME_KEY_BYTES)
  checkRoom(input, 32 + count * CHUNK_BYTES)
  const chunks = Array.from({ length: count }, (_, index) => {
    const at = 32 + index * CHUNK_BYTES
    return {
      sourceOffset: input.readBigUInt64LE(at),
      targetOffset: input.readBigUInt64LE(at + 8),
      lengthBytes: input.readUInt32LE(at + 16),
    }
  })
  return { sourceKey: input.subarray(0, RESUME_KEY_BYTES), chunks }
}

/** What was written or, with INVALID_PARAMETER, the limits: chunks, bytes per chunk, bytes in total. */
export type CopyChunkResponse = {
  readonly chunksWritten: number
  readonly chunkBytesWritten: number
  readonly totalBytesWritten: number
}

export const COPY_CHUNK_LIMITS: CopyChunkResponse = {
  chunksWritten: 256,
  chunkBytesWritten: 1024 * 1024,
  totalBytesWritten: 16 * 1024 * 1024,
}

export function encodeCopyChunkResponse(response: CopyChunkResponse): Buffer {
  const output = Buffer.alloc(12)
  output.writeUInt32LE(response.chunksWritten, 0)
  output.writeUInt32LE(response.chunkBytesWritten, 4)
  output.writeUInt32LE(response.totalBytesWritten, 8)
  return output
}

const SNAPSHOTS_MIN_BYTES = 16

/**
 * SRV_SNAPSHOT_ARRAY. If the buffer is too small for all labels, it gets only their number and size, and the client asks
 * again with a larger one ([MS-SMB2] 3.3.5.15.1).
 */
export function encodeSnapshots(labels: readonly string[], outputMaxBytes: number): Buffer {
  if (outputMaxBytes < SNAPSHOTS_MIN_BYTES) throw new WireError('INVALID_PARAMETER')
  const list = encodeText(`${labels.map((label) => `${label}\0`).join('')}\0`)
  const fits = 12 + list.length <= outputMaxBytes
  const output = Buffer.alloc(
    fits ? Math.max(12 + list.length, SNAPSHOTS_MIN_BYTES) : SNAPSHOTS_MIN_BYTES,
  )
  output.writeUInt32LE(labels.length, 0)
  output.writeUInt32LE(fits ? labels.length : 0, 4)
  output.writeUInt32LE(list.length, 8)
  if (fits) list.copy(output, 12)
  return output
}

export type NetworkInterface = {
  readonly index: number
  /** 1 RSS, 2 RDMA. */
  readonly capability: number
  readonly linkSpeedBitsPerSecond: bigint
  /** Four bytes of IPv4 or sixteen of IPv6. */
  readonly address: Buffer
}

const INTERFACE_BYTES = 152
const AF_INET = 2
const AF_INET6 = 0x17

export function encodeNetworkInterfaces(interfaces: readonly NetworkInterface[]): Buffer {
  return Buffer.concat(
    interfaces.map((entry, index) => {
      const bytes = Buffer.alloc(INTERFACE_BYTES)
      bytes.writeUInt32LE(index === interfaces.length - 1 ? 0 : INTERFACE_BYTES, 0)
      bytes.writeUInt32LE(entry.index, 4)
      bytes.writeUInt32LE(entry.capability, 8)
      bytes.writeBigUInt64LE(entry.linkSpeedBitsPerSecond, 16)
      const isV4 = entry.address.length === 4
      bytes.writeUInt16LE(isV4 ? AF_INET : AF_INET6, 24)
      // After family and port; IPv6 has flow information before the address.
      entry.address.copy(bytes, isV4 ? 28 : 32)
      return bytes
    }),
  )
}

export type FileRange = { readonly offset: bigint; readonly length: bigint }

export function decodeAllocatedRangeQuery(input: Buffer): FileRange {
  checkRoom(input, 16)
  const [offset, length] = [decodePositive(input, 0), decodePositive(input, 8)]
  if (offset + length >= 1n << 63n) throw new WireError('INVALID_PARAMETER')
  return { offset, length }
}

export type RangesOutput = {
  readonly status: Extract<NtStatusName, 'SUCCESS' | 'BUFFER_OVERFLOW' | 'BUFFER_TOO_SMALL'>
  readonly bytes: Buffer
}

/** As many ranges as fit: BUFFER_OVERFLOW if there are more, BUFFER_TOO_SMALL if none fits. */
export function encodeAllocatedRanges(
  ranges: readonly FileRange[],
  outputMaxBytes: number,
): RangesOutput {
  const count = Math.min(ranges.length, Math.floor(outputMaxBytes / 16))
  const bytes = Buffer.alloc(16 * count)
  for (const [index, { offset, length }] of ranges.slice(0, count).entries()) {
    bytes.writeBigUInt64LE(offset, 16 * index)
    bytes.writeBigUInt64LE(length, 16 * index + 8)
  }
  if (count === ranges.length) return { status: 'SUCCESS', bytes }
  return { status: count === 0 ? 'BUFFER_TOO_SMALL' : 'BUFFER_OVERFLOW', bytes }
}

export type ZeroRange = { readonly offset: bigint; readonly beyondFinalZero: bigint }

export function decodeSetZero(input: Buffer): ZeroRange {
  checkRoom(input, 16)
  const zero = { offset: decodePositive(input, 0), beyondFinalZero: decodePositive(input, 8) }
  if (zero.offset > zero.beyondFinalZero) throw new WireError('INVALID_PARAMETER')
  return zero
}

/** How long the open outlives its connection. */
export function decodeResiliencyTimeoutMs(input: Buffer): number {
  checkRoom(input, 8)
  return input.readUInt32LE(0)
}

export function decodeCompressionState(input: Buffer): number {
  checkRoom(input, 2)
  return input.readUInt16LE(0)
}

export function encodeCompressionState(compressionFormat: number): Buffer {
  const output = Buffer.alloc(2)
  output.writeUInt16LE(compressionFormat, 0)
  return output
}

export type PipeWait = { readonly timeoutTicks: bigint | undefined; readonly name: string }

export function decodePipeWait(input: Buffer): PipeWait {
  checkRoom(input, 14)
  const end = 14 + input.readUInt32LE(8)
  checkRoom(input, end)
  const isTimed = input.readUInt8(12) !== 0
  return {
    timeoutTicks: isTimed ? input.readBigInt64LE(0) : undefined,
    name: decodeText(input.subarray(14, end)),
  }
}

const PIPE_CONNECTED = 3

export function encodePipePeek(availableBytes: number, content: Buffer): Buffer {
  const head = Buffer.alloc(16)
  head.writeUInt32LE(PIPE_CONNECTED, 0)
  head.writeUInt32LE(availableBytes, 4)
  return Buffer.concat([head, content])
}
