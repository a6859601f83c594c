// FileEndOfFileInformation and FileAllocationInformation ([MS-FSA] 2.1.5.15.3, 2.1.5.15.1): a file is cut or grown
// with zeros. Space is not set aside: an allocation above the length is shown to its handle and changes nothing.
import { setNodeProperties } from '../../storage/file/file-properties.ts'
import { requireOpened } from '../../storage/file/opened-node.ts'
import { FILE_BYTES_MAX } from '../../storage/file/range.ts'
import { breakForWrite } from '../../storage/file/smb-cache.ts'
import { checkLocks } from '../../storage/file/smb-lock.ts'
import { keptTimes } from '../../storage/file/set-basic.ts'
import { keepAllocation } from '../allocation.ts'
import { RIGHT, requireRights } from '../access.ts'
import { requireDisk, type SmbCall } from '../call.ts'
import { frozenTimesOf } from '../frozen-times.ts'
import type { FileHandle } from '../handle.ts'
import { SmbError } from '../smb-error.ts'
import { showWriteTime } from '../write-time.ts'

export async function setLength(
  call: SmbCall,
  handle: FileHandle,
  kind: 'allocation' | 'endOfFile',
  size: number,
): Promise<void> {
  requireRights(handle, RIGHT.writeData)
  if (handle.open.isDirectory) throw new SmbError('INVALID_PARAMETER')
  if (size > FILE_BYTES_MAX) throw new SmbError('DISK_FULL')
  const tree = requireDisk(call)
  const moment = call.world.moment()
  const newId = call.world.newId()
  const frozen = frozenTimesOf(handle)
  await call.world.kv.write(function* (tx) {
    const opened = yield* requireOpened(tx, tree, handle.open)
    const { node } = opened
    yield* breakForWrite(tx, opened.open, opened.open.holder)
    if (kind === 'allocation' && size >= node.lengthBytes) return
    if (size < node.lengthBytes) {
      yield* checkLocks(tx, opened.open, { from: size, to: node.lengthBytes }, 'write')
    }
    const resize = { lengthBytes: size, newId }
    yield* setNodeProperties(tx, opened, { properties: keptTimes(node, frozen), resize }, moment)
  })
  if (kind === 'allocation') keepAllocation(handle, size)
  showWriteTime(handle)
}
