// CLOSE as the time of the last write, where writes came after the first was shown (write-time.ts).
import { requireDisk, type SmbCall } from '../call.ts'
import type { FileHandle } from '../world.ts'
import { frozenTimesOf } from './frozen-times.ts'
import { setWriteTime } from '../../storage/file/tree/set-basic.ts'

export async function moveWriteTime(call: SmbCall, handle: FileHandle): Promise<void> {
  const tree = requireDisk(call)
  const moment = call.world.moment()
  const frozen = frozenTimesOf(handle)
  if (frozen.lastWrite === true) return
  await call.world.kv.write((tx) => setWriteTime(tx, tree, handle.open, frozen, moment))
}
