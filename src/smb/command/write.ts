// WRITE ([MS-SMB2] 3.3.5.13). The response waits until the bytes are durable, so WRITE_THROUGH changes nothing.
import { wholeSlice } from '../../extent/content/slice-list.ts'
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { removeReferences } from '../../extent/content/reference.ts'
import type { Piece } from '../../extent/content/slice.ts'
import { SMALL_BYTES_MAX, smallPiece } from '../../extent/content/small.ts'
import type { FileNode } from '../../storage/file/tree/node.ts'
import {
  checkWriteOpened,
  writeOpened,
  type OpenedAt,
  type SmbWrite,
} from '../../storage/file/bytes/smb-range.ts'
import { RIGHT, requireAnyRight } from '../handle/access.ts'
import { requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import type { SmbWorld, FileHandle, PipeHandle } from '../world.ts'
import { frozenTimesOf } from '../handle/frozen-times.ts'
import { SmbError } from '../smb-error.ts'
import {
  checkEnd,
  checkTransfer,
  onChannel,
  openedAt,
  requireNoDirectory,
} from '../handle/transfer.ts'
import { noteWrite } from '../handle/write-time.ts'
import { decodeWriteRequest, encodeWriteResponse, type WriteRequest } from '../wire/file/write.ts'

/** The limit of NTFS ([MS-FSA] 2.1.5.4, MAXFILESIZE). Files end long before it, with DISK_FULL. */
const WRITE_END = 0xfff_ffff_0000n

export async function runWrite(call: SmbCall): Promise<SmbReply> {
  const request = decodeWriteRequest(call.message)
  const handle = requireHandle(call, request.fileId)
  checkTransfer(call, request.content.length)
  if (request.channel !== 0) throw new SmbError('INVALID_PARAMETER')
  if (handle.kind === 'pipe') return writePipe(handle, request)
  requireNoDirectory(handle)
  await onChannel(call, handle, () => writeFile(call, handle, request))
  return { body: [encodeWriteResponse(request.content.length)] }
}

async function writeFile(
  { world }: SmbCall,
  handle: FileHandle,
  { append, offset, offsetExact, content }: WriteRequest,
): Promise<void> {
  requireAnyRight(handle, RIGHT.writeData | RIGHT.appendData)
  // A handle that may only append writes at the end, whatever the offset. Others need an offset ([MS-SMB2] 2.2.13.1.1).
  const isAppending = (handle.open.access & RIGHT.writeData) === 0
  if (append && !isAppending) throw new SmbError('INVALID_PARAMETER')
  const lengthBytes = content.length
  if (lengthBytes === 0) return
  checkEnd(offsetExact, lengthBytes, WRITE_END)
  const frozen = frozenTimesOf(handle)
  const write: SmbWrite = { offset: isAppending ? 'end' : offset, lengthBytes, frozen }
  const at = openedAt(handle)
  const isSmall = lengthBytes <= SMALL_BYTES_MAX
  const { before, after } = await (isSmall ? writeSmall : writeLarge)(world, at, write, content)
  noteWrite(handle, before.lastWriteTime, after.lastWriteTime, world.moment().nowMs)
}

type Written = { readonly before: FileNode; readonly after: FileNode }

async function writeSmall(
  world: SmbWorld,
  at: OpenedAt,
  write: SmbWrite,
  small: Buffer,
): Promise<Written> {
  const by = { moment: world.moment(), newId: world.newId() }
  const pieces = [smallPiece(world.newId(), small)]
  return await world.kv.write((tx) => writeOpened(tx, at, write, pieces, by))
}

/** Bytes first, record second: readers see all of the write or nothing. */
async function writeLarge(
  world: SmbWorld,
  at: OpenedAt,
  write: SmbWrite,
  content: Buffer,
): Promise<Written> {
  await world.kv.read((tx) => checkWriteOpened(tx, at, write))
  const slice = await world.extents.write(partsOf(content), content.length, [])
  const pieces = [wholeSlice(slice)]
  const by = { moment: world.moment(), newId: world.newId() }
  try {
    return await world.kv.write((tx) => writeOpened(tx, at, write, pieces, by))
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) await discard(world, pieces)
    throw error
  }
}

/** No record references these bytes; the next sweep removes them. */
async function discard({ kv, newId }: SmbWorld, pieces: readonly Piece[]): Promise<void> {
  const id = newId()
  await kv.write((tx) => removeReferences(tx, { id, pieces }))
}

/** Small enough to stay in the processor's cache between the CRC and the copy. */
const PART_BYTES = 256 * 1024

async function* partsOf(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += PART_BYTES) {
    yield content.subarray(at, at + PART_BYTES)
  }
}

function writePipe({ pipe }: PipeHandle, { content }: WriteRequest): SmbReply {
  if (pipe.isDisconnected()) throw new SmbError('PIPE_DISCONNECTED')
  pipe.write(content)
  return { body: [encodeWriteResponse(content.length)] }
}
