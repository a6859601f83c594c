// FSCTL_SRV_REQUEST_RESUME_KEY, FSCTL_SRV_COPYCHUNK and FSCTL_SRV_COPYCHUNK_WRITE ([MS-SMB2] 3.3.5.15.5 and
// 3.3.5.15.6): server-side copy from a file that the client has open.
import { copyChunks, type Chunk, type CopiedChunks } from '../../storage/file/bytes/smb-copy.ts'
import { RIGHT, requireAnyRight, requireRights } from '../handle/access.ts'
import { frozenTimesOf } from '../handle/frozen-times.ts'
import { requireSession } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { SmbError, smbErrorOf } from '../smb-error.ts'
import { checkEnd, OFFSET_END, openedAt, requireNoDirectory } from '../handle/transfer.ts'
import { clampToNumber } from '../wire/body.ts'
import { decodeFileId, writeFileId } from '../wire/file-id.ts'
import {
  COPY_CHUNK_LIMITS,
  decodeCopyChunk,
  encodeCopyChunkResponse,
  encodeResumeKey,
  RESUME_KEY_BYTES,
  type CopyChunk,
} from '../wire/file/fsctl.ts'
import type { NtStatusName } from '../wire/status.ts'
import { requireFile, type FsctlCall, type FsctlReply } from './fsctl.ts'

const COPY_CHUNK_OUTPUT_BYTES = 12

/** The key is the FileId. It is valid in the session of the open, for as long as the file is open. */
export function runRequestResumeKey(call: FsctlCall): FsctlReply {
  const { fileId } = requireFile(call)
  const resumeKey = Buffer.alloc(RESUME_KEY_BYTES)
  writeFileId(resumeKey, 0, fileId)
  const output = encodeResumeKey(resumeKey)
  if (call.outputMaxBytes < output.length) throw new SmbError('INVALID_PARAMETER')
  return { output }
}

/** Needs read access to the target, unlike FSCTL_SRV_COPYCHUNK_WRITE. */
export function runCopyChunk(call: FsctlCall): Promise<FsctlReply> {
  return copy(call, RIGHT.readData | RIGHT.writeData)
}

export function runCopyChunkWrite(call: FsctlCall): Promise<FsctlReply> {
  return copy(call, RIGHT.writeData)
}

async function copy(call: FsctlCall, targetRights: number): Promise<FsctlReply> {
  const { world, input, outputMaxBytes } = call
  const target = requireFile(call)
  if (outputMaxBytes < COPY_CHUNK_OUTPUT_BYTES) throw new SmbError('INVALID_PARAMETER')
  const request = decodeCopyChunk(input)
  const source = findSource(call, request.sourceKey)
  requireNoDirectory(source)
  requireNoDirectory(target)
  requireAnyRight(source, RIGHT.readData | RIGHT.execute)
  requireRights(target, targetRights)
  if (isBeyondLimits(request.chunks)) {
    return { status: 'INVALID_PARAMETER', output: encodeCopyChunkResponse(COPY_CHUNK_LIMITS) }
  }
  const copyRequest = {
    source: openedAt(source),
    target: openedAt(target),
    chunks: request.chunks.map(chunkOf),
    frozen: frozenTimesOf(target),
  }
  const by = { moment: world.moment(), newId: world.newId() }
  return replyOf(await world.kv.write((tx) => copyChunks(tx, copyRequest, by)))
}

function findSource(call: FsctlCall, sourceKey: Buffer): FileHandle {
  const { persistent, volatile } = decodeFileId(sourceKey, 0)
  const source = requireSession(call).handles.get(volatile)
  if (source?.kind !== 'file' || source.fileId.persistent !== persistent) {
    throw new SmbError('OBJECT_NAME_NOT_FOUND')
  }
  return source
}

function isBeyondLimits(chunks: readonly CopyChunk[]): boolean {
  const { chunksWritten, chunkBytesWritten, totalBytesWritten } = COPY_CHUNK_LIMITS
  const totalBytes = chunks.reduce((sum, { lengthBytes }) => sum + lengthBytes, 0)
  const hasInvalid = chunks.some(
    ({ lengthBytes }) => lengthBytes === 0 || lengthBytes > chunkBytesWritten,
  )
  return hasInvalid || chunks.length > chunksWritten || totalBytes > totalBytesWritten
}

function chunkOf({ sourceOffset, targetOffset, lengthBytes }: CopyChunk): Chunk {
  checkEnd(sourceOffset, lengthBytes, OFFSET_END)
  checkEnd(targetOffset, lengthBytes, OFFSET_END)
  return {
    sourceOffset: clampToNumber(sourceOffset),
    targetOffset: clampToNumber(targetOffset),
    lengthBytes,
  }
}

/** Reports the progress even after a failure. */
function replyOf({ chunkCount, totalBytes, failure }: CopiedChunks): FsctlReply {
  const output = encodeCopyChunkResponse({
    chunksWritten: chunkCount,
    chunkBytesWritten: 0,
    totalBytesWritten: totalBytes,
  })
  return { status: statusOf(failure), output }
}

function statusOf(failure: CopiedChunks['failure']): NtStatusName {
  if (failure === undefined) return 'SUCCESS'
  if (failure === 'source') return 'INVALID_VIEW_SIZE'
  return smbErrorOf(failure)?.status ?? 'UNSUCCESSFUL'
}
