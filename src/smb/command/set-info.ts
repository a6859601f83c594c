// SET_INFO ([MS-SMB2] 3.3.5.21), by information class. Renames, deletions and lengths have files of their own
// (set-rename.ts, set-disposition.ts, set-length.ts).
import { frozenAfter, type BasicTime, setOpenedBasic } from '../../storage/file/tree/set-basic.ts'
import { RIGHT, requireRights } from '../handle/access.ts'
import { requireDisk, requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { frozenTimesOf, setFrozenTimes } from '../handle/frozen-times.ts'
import { setSecurity } from '../handle/security.ts'
import { SmbError } from '../smb-error.ts'
import { onChannel } from '../handle/transfer.ts'
import { showWriteTime } from '../handle/write-time.ts'
import { INFORMATION_TYPE } from '../wire/information/query-info.ts'
import {
  decodeFileChange,
  decodeSetInfoRequest,
  encodeSetInfoResponse,
  type FileChange,
  type SetInfoRequest,
  type FiletimeChange,
} from '../wire/information/set-info.ts'
import { setDisposition } from './set-disposition.ts'
import { setLength } from './set-length.ts'
import { setRename } from './set-rename.ts'

export async function runSetInfo(call: SmbCall): Promise<SmbReply> {
  const request = decodeSetInfoRequest(call.message)
  const handle = requireHandle(call, request.fileId)
  if (handle.kind === 'pipe') throw new SmbError('INVALID_PARAMETER')
  if (handle.open.snapshot !== undefined) throw new SmbError('MEDIA_WRITE_PROTECTED')
  await onChannel(call, handle, () => setInformation(call, handle, request))
  return { body: [encodeSetInfoResponse()] }
}

async function setInformation(
  call: SmbCall,
  handle: FileHandle,
  request: SetInfoRequest,
): Promise<void> {
  switch (request.type) {
    case INFORMATION_TYPE.file:
      return await setFile(call, handle, decodeFileChange(request.informationClass, request.input))
    case INFORMATION_TYPE.security:
      return await setSecurity(call, handle, request)
    case INFORMATION_TYPE.fileSystem:
    case INFORMATION_TYPE.quota:
      // The volume's label and quotas belong to the share, which SMB can't change.
      throw new SmbError('NOT_SUPPORTED')
    default:
      throw new SmbError('INVALID_PARAMETER')
  }
}

async function setFile(call: SmbCall, handle: FileHandle, change: FileChange): Promise<void> {
  switch (change.kind) {
    case 'basic':
      return await setTimesAndAttributes(call, handle, change)
    case 'rename':
      return await setRename(call, handle, change)
    case 'disposition':
      return await setDisposition(call, handle, change)
    case 'allocation':
    case 'endOfFile':
      return await setLength(call, handle, change.kind, change.size)
    case 'position':
      handle.position = change.size
      return
    case 'mode':
      return setMode(handle, change.mode)
    case 'link':
      // Azure Files has no hard links over SMB.
      throw new SmbError('NOT_SUPPORTED')
  }
}

/** FILE_WRITE_THROUGH, FILE_SEQUENTIAL_ONLY, FILE_NO_INTERMEDIATE_BUFFERING, …: [MS-FSCC] 2.4.31 */
const MODES = 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x1000

function setMode(handle: FileHandle, mode: number): void {
  if ((mode & ~MODES) !== 0) throw new SmbError('INVALID_PARAMETER')
  handle.mode = mode
}

async function setTimesAndAttributes(
  call: SmbCall,
  handle: FileHandle,
  change: Extract<FileChange, { kind: 'basic' }>,
): Promise<void> {
  requireRights(handle, RIGHT.writeAttributes)
  const tree = requireDisk(call)
  const basic = {
    creationTime: timeOf(change.creationTime),
    lastAccessTime: timeOf(change.lastAccessTime),
    lastWriteTime: timeOf(change.lastWriteTime),
    changeTime: timeOf(change.changeTime),
    attributes: change.fileAttributes,
  }
  const frozen = frozenAfter(frozenTimesOf(handle), basic)
  const moment = call.world.moment()
  await call.world.kv.write((tx) =>
    setOpenedBasic(tx, tree, handle.open, { basic, frozen }, moment),
  )
  setFrozenTimes(handle, frozen)
  showWriteTime(handle)
}

function timeOf(change: FiletimeChange): BasicTime {
  return typeof change === 'bigint' ? String(change) : change
}
