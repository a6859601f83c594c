// FLUSH ([MS-SMB2] 3.3.5.11). Every write is durable before its response, so nothing is left to flush.
import { RIGHT, requireAnyRight } from '../handle/access.ts'
import { requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import { showWriteTime } from '../handle/write-time.ts'
import { decodeFlushRequest, encodeSimpleResponse } from '../wire/simple.ts'

export function runFlush(call: SmbCall): SmbReply {
  const { fileId } = decodeFlushRequest(call.message)
  const handle = requireHandle(call, fileId)
  // For a directory the same bits are FILE_ADD_FILE and FILE_ADD_SUBDIRECTORY.
  if (handle.kind === 'file') {
    requireAnyRight(handle, RIGHT.writeData | RIGHT.appendData)
    showWriteTime(handle)
  }
  return { body: [encodeSimpleResponse()] }
}
