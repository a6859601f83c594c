// CLOSE ([MS-SMB2] 3.3.5.10).
import { getNode } from '../../storage/file/tree/node.ts'
import { setWriteTime } from '../../storage/file/tree/set-basic.ts'
import { allocatedBytesOf } from '../handle/allocation.ts'
import { requireDisk, requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import { closeHandle } from '../handle/close.ts'
import { fileFactsOf } from '../handle/file-facts.ts'
import type { FileHandle } from '../world.ts'
import { frozenTimesOf } from '../handle/frozen-times.ts'
import { isWriteTimeLate } from '../handle/write-time.ts'
import { decodeCloseRequest, encodeCloseResponse } from '../wire/file/close.ts'
import type { OpenedFile } from '../wire/opened-file.ts'

export async function runClose(call: SmbCall): Promise<SmbReply> {
  const { fileId, postQueryAttributes } = decodeCloseRequest(call.message)
  const handle = requireHandle(call, fileId)
  const { world } = call
  if (handle.kind === 'file' && isWriteTimeLate(handle)) await setLateWriteTime(call, handle)
  const needsFacts = handle.kind === 'file' && postQueryAttributes
  const facts = needsFacts ? await factsOf(call, handle) : undefined
  await closeHandle(world, handle)
  return { body: [encodeCloseResponse(facts)] }
}

/** The time of CLOSE becomes the write time (write-time.ts). */
async function setLateWriteTime(call: SmbCall, handle: FileHandle): Promise<void> {
  const tree = requireDisk(call)
  const moment = call.world.moment()
  const frozen = frozenTimesOf(handle)
  if (frozen.lastWrite === true) return
  await call.world.kv.write((tx) => setWriteTime(tx, tree, handle.open, frozen, moment))
}

/** Read before the close, since the file may be deleted with its last handle. */
async function factsOf({ world }: SmbCall, handle: FileHandle): Promise<OpenedFile | undefined> {
  const { shareId, nodeId, snapshot } = handle.open
  const view = { shareId, lastSnapshot: 0, ...(snapshot !== undefined && { snapshot }) }
  const node = await world.kv.read((tx) => getNode(tx, view, nodeId))
  return node && fileFactsOf(node, allocatedBytesOf(handle))
}
