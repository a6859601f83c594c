// READ ([MS-SMB2] 3.3.5.12). The bytes go from the extent's chunks to the socket without a copy.
import { readOpened, type OpenedBytes } from '../../storage/file/bytes/smb-range.ts'
import { RIGHT, requireAnyRight } from '../handle/access.ts'
import { requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import type { FileHandle, PipeHandle } from '../world.ts'
import { SmbError } from '../smb-error.ts'
import {
  asBuffer,
  checkEnd,
  checkTransfer,
  onChannel,
  OFFSET_END,
  openedAt,
  requireNoDirectory,
} from '../handle/transfer.ts'
import { decodeReadRequest, encodeReadResponseHead, type ReadRequest } from '../wire/file/read.ts'

export async function runRead(call: SmbCall): Promise<SmbReply> {
  const request = decodeReadRequest(call.message)
  const handle = requireHandle(call, request.fileId)
  checkTransfer(call, request.lengthBytes)
  if (request.channel !== 0) throw new SmbError('INVALID_PARAMETER')
  if (handle.kind === 'pipe') return readPipe(handle, request)
  return onChannel(call, handle, () => readFile(call, handle, request))
}

async function readFile(
  call: SmbCall,
  handle: FileHandle,
  request: ReadRequest,
): Promise<SmbReply> {
  requireNoDirectory(handle)
  requireAnyRight(handle, RIGHT.readData | RIGHT.execute)
  const { offset, lengthBytes, minimumCount } = request
  checkEnd(request.offsetExact, lengthBytes, OFFSET_END)
  const at = openedAt(handle)
  const found = await call.world.kv.read((tx) => readOpened(tx, at, { offset, lengthBytes }))
  if (found === undefined) throw new SmbError('END_OF_FILE')
  const countBytes = 'bytes' in found ? found.bytes.length : found.lengthBytes
  if (countBytes < minimumCount) throw new SmbError('END_OF_FILE')
  const content = await contentOf(call, found)
  handle.position = offset + countBytes
  const { extents } = call.world
  const sent = () => content.forEach((chunk) => extents.recycle(chunk))
  return { body: [encodeReadResponseHead(countBytes), ...content], sent }
}

const AHEAD_COUNT = 3

async function contentOf({ world }: SmbCall, found: OpenedBytes): Promise<Buffer[]> {
  if ('bytes' in found) return [asBuffer(found.bytes)]
  const chunks: Buffer[] = []
  // The response needs all of them; reading a few at a time keeps the disk busy.
  for await (const chunk of world.extents.read(found.pieces, AHEAD_COUNT)) {
    chunks.push(asBuffer(chunk))
  }
  return chunks
}

/** A pipe answers as soon as a request is written to it, so a read never waits. */
function readPipe({ pipe }: PipeHandle, { lengthBytes, minimumCount }: ReadRequest): SmbReply {
  const { bytes, more } = pipe.read(lengthBytes)
  if (bytes.length === 0 || bytes.length < minimumCount) {
    throw new SmbError(pipe.isDisconnected() ? 'PIPE_DISCONNECTED' : 'PIPE_EMPTY')
  }
  const body = [encodeReadResponseHead(bytes.length), asBuffer(bytes)] as const
  return more ? { status: 'BUFFER_OVERFLOW', body } : { body }
}
