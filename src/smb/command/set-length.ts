// FileEndOfFileInformation and FileAllocationInformation ([MS-FSA] 2.1.5.15.3, 2.1.5.15.1): a file is cut or grown
// with zeros. Space is not set aside: an allocation above the length is shown to its handle and changes nothing.
import type { Step } from '../../kv/kv.ts'
import { setNodeProperties, type Resize } from '../../storage/file/file-properties.ts'
import type { FileOpen, FileTx } from '../../storage/file/open.ts'
import { requireOpened } from '../../storage/file/opened-node.ts'
import { FILE_BYTES_MAX } from '../../storage/file/range.ts'
import { breakForWrite } from '../../storage/file/smb-cache.ts'
import { checkLocks } from '../../storage/file/smb-lock.ts'
import { keptTimes, type FrozenTimes } from '../../storage/file/set-basic.ts'
import type { Moment } from '../../storage/moment.ts'
import { keepAllocation } from '../allocation.ts'
import { RIGHT, requireRights } from '../access.ts'
import { requireDisk, type DiskTree, type SmbCall } from '../call.ts'
import { frozenTimesOf } from '../frozen-times.ts'
import type { FileHandle } from '../handle.ts'
import { SmbError } from '../smb-error.ts'
import { showWriteTime } from '../write-time.ts'

type LengthKind = 'allocation' | 'endOfFile'

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
  if (kind === 'allocation') keepAllocation(handle, size)
  showWriteTime(handle)
}

type LengthChange = {
  readonly kind: LengthKind
  readonly resize: Resize
  readonly frozen: FrozenTimes
}

function* resizeOpened(
  tx: FileTx,
  tree: DiskTree,
  open: FileOpen,
  { kind, resize, frozen }: LengthChange,
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, tree, open)
  const { node } = opened
  const { lengthBytes } = resize
  yield* breakForWrite(tx, opened.open, opened.open.holder)
  if (kind === 'allocation' && lengthBytes >= node.lengthBytes) return
  if (lengthBytes < node.lengthBytes) {
    yield* checkLocks(tx, opened.open, { from: lengthBytes, to: node.lengthBytes }, 'write')
  }
  yield* setNodeProperties(tx, opened, { properties: keptTimes(node, frozen), resize }, moment)
}
