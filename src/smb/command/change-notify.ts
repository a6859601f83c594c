// CHANGE_NOTIFY ([MS-SMB2] 3.3.5.19): the changes in a directory since the last one, or a wait for the next change.
// Nothing is awaited before that wait starts, so that a CANCEL right after it finds it.
import { requireRights, RIGHT } from '../handle/access.ts'
import { requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import { endIfDeletePending, nextChanges, watchOf } from '../handle/notify.ts'
import { SmbError } from '../smb-error.ts'
import { checkTransfer } from '../handle/transfer.ts'
import {
  decodeChangeNotifyRequest,
  encodeChangeNotifyResponse,
} from '../wire/file/change-notify.ts'

/** The changes that a handle buffers for its client. Windows requests 64 KiB at most. */
const BUFFER_BYTES_MAX = 256 * 1024

export async function runChangeNotify(call: SmbCall): Promise<SmbReply> {
  const request = decodeChangeNotifyRequest(call.message)
  const { completionFilter: filter, watchTree, outputMaxBytes } = request
  const handle = requireHandle(call, request.fileId)
  if (handle.kind !== 'file' || !handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  checkTransfer(call, outputMaxBytes)
  requireRights(handle, RIGHT.readData)
  const lengthMax = Math.min(outputMaxBytes, BUFFER_BYTES_MAX)
  const watch = watchOf(call.world, handle, { filter, watchTree, lengthMax })
  const next = nextChanges(watch, outputMaxBytes, call.goAsync)
  endIfDeletePending(call.world, handle, watch)
  return { body: [encodeChangeNotifyResponse(await next)] }
}
