// FileEndOfFileInformation and FileAllocationInformation ([MS-FSA] 2.1.5.15.3, 2.1.5.15.1): a file is truncated, or
// extended with zeros. Space is not reserved: only the handle shows an allocation above the length.
import { FILE_BYTES_MAX } from '../../storage/file/bytes/range.ts'
import { setAllocation } from '../handle/allocation.ts'
import { RIGHT, requireRights } from '../handle/access.ts'
import { requireDisk, type SmbCall } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { frozenTimesOf } from '../handle/frozen-times.ts'
import { SmbError } from '../smb-error.ts'
import { showWriteTime } from '../handle/write-time.ts'
import { type LengthKind, resizeOpened } from '../../storage/file/bytes/smb-length.ts'

export async function setLength(
  call: SmbCall,
  handle: FileHandle,
  kind: LengthKind,
  size: number,
): Promise<void> {
  requireRights(handle, RIGHT.writeData)
  if (handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  if (size > FILE_BYTES_MAX) throw new SmbError('DISK_FULL')
  const tree = requireDisk(call)
  const moment = call.world.moment()
  const resize = { lengthBytes: size, newId: call.world.newId() }
  const change = { kind, resize, frozen: frozenTimesOf(handle) }
  await call.world.kv.write((tx) => resizeOpened(tx, tree, handle.open, change, moment))
  if (kind === 'allocation') setAllocation(handle, size)
  showWriteTime(handle)
}
