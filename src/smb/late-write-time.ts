// CLOSE as the time of the last write, where writes came after the first was shown (write-time.ts).
import type { Step } from '../kv/kv.ts'
import { setNodeProperties } from '../storage/file/file-properties.ts'
import { fileTimeOf } from '../storage/file/file-time.ts'
import type { FileOpen, FileTx } from '../storage/file/open.ts'
import { requireOpened } from '../storage/file/opened-node.ts'
import { keptTimes, type FrozenTimes } from '../storage/file/set-basic.ts'
import type { Moment } from '../storage/moment.ts'
import { requireDisk, type DiskTree, type SmbCall } from './call.ts'
import { frozenTimesOf } from './frozen-times.ts'
import type { FileHandle } from './handle.ts'

export async function moveWriteTime(call: SmbCall, handle: FileHandle): Promise<void> {
  const tree = requireDisk(call)
  const moment = call.world.moment()
  const frozen = frozenTimesOf(handle)
  if (frozen.lastWrite === true) return
  await call.world.kv.write((tx) => setWriteTime(tx, tree, handle.open, frozen, moment))
}

function* setWriteTime(
  tx: FileTx,
  tree: DiskTree,
  open: FileOpen,
  frozen: FrozenTimes,
  moment: Moment,
): Step<void> {
  const opened = yield* requireOpened(tx, tree, open)
  // Rounded up: not before the client sent its CLOSE.
  const lastWriteTime = { at: fileTimeOf(moment.nowMs + 1) }
  const properties = { ...keptTimes(opened.node, frozen), lastWriteTime }
  yield* setNodeProperties(tx, opened, { properties }, moment)
}
