// Shared by READ, WRITE and IOCTL: the size of one message, and the file of a handle.
import type { OpenedAt } from '../../storage/file/bytes/smb-range.ts'
import { requireSession, type SmbCall } from '../call.ts'
import { beginOnChannel } from './channel-sequence.ts'
import type { FileHandle, Handle } from '../world.ts'
import { CREDIT_BYTES, TRANSFER_BYTES_MAX } from '../limits.ts'
import { SmbError } from '../smb-error.ts'

/** `lengthBytes` is the larger of input and output. */
export function checkTransfer({ header }: Pick<SmbCall, 'header'>, lengthBytes: number): void {
  if (lengthBytes > TRANSFER_BYTES_MAX) throw new SmbError('INVALID_PARAMETER')
  const paidBytes = Math.max(header.creditCharge, 1) * CREDIT_BYTES
  if (lengthBytes > paidBytes) throw new SmbError('INVALID_PARAMETER')
}

/** Runs a request on a handle, unless it arrives late on a channel that its client has given up. */
export async function onChannel<T>(
  call: SmbCall,
  handle: Handle,
  run: () => Promise<T> | T,
): Promise<T> {
  if (handle.kind === 'pipe') return run()
  const end = beginOnChannel(requireSession(call), call.header, handle)
  try {
    return await run()
  } finally {
    end()
  }
}

/** Offsets are positive LARGE_INTEGERs. */
export const OFFSET_END = (1n << 63n) - 1n

export function checkEnd(offset: bigint, lengthBytes: number, end: bigint): void {
  if (offset + BigInt(lengthBytes) > end) throw new SmbError('INVALID_PARAMETER')
}

/** For the transactions on an open file. */
export function openedAt({ tree, open }: FileHandle): OpenedAt {
  if (tree?.kind !== 'disk') throw new SmbError('FILE_CLOSED')
  return { address: { account: tree.account, share: tree.share }, open }
}

export function requireNoDirectory({ open }: FileHandle): void {
  if (open.isDirectory) throw new SmbError('INVALID_DEVICE_REQUEST')
}

export function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
