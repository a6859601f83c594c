// CLOSE ([MS-SMB2] 3.3.5.10).
import { getNode } from '../../storage/file/tree/node.ts'
import { allocatedBytesOf } from '../handle/allocation.ts'
import { requireHandle, type SmbCall, type SmbReply } from '../call.ts'
import { closeHandle } from '../handle/close.ts'
import { fileFactsOf } from '../handle/file-facts.ts'
import type { FileHandle } from '../world.ts'
import { moveWriteTime } from '../handle/late-write-time.ts'
import { isWriteTimeLate } from '../handle/write-time.ts'
import { decodeCloseRequest, encodeCloseResponse } from '../wire/file/close.ts'
import type { OpenedFile } from '../wire/opened-file.ts'

export async function runClose(call: SmbCall): Promise<SmbReply> {
  const { fileId, postQueryAttributes } = decodeCloseRequest(call.message)
  const handle = requireHandle(call, fileId)
  const { world } = call
  if (handle.kind === 'file' && isWriteTimeLate(handle)) await moveWriteTime(call, handle)
  const isAsked = handle.kind === 'file' && postQueryAttributes
  const facts = isAsked ? await factsOf(call, handle) : undefined
  await closeHandle(world, handle)
  return { body: [encodeCloseResponse(facts)] }
}

/** Before it is closed, since it may go with its last handle. */
async function factsOf({ world }: SmbCall, handle: FileHandle): Promise<OpenedFile | undefined> {
  const { shareId, nodeId, snapshot } = handle.open
  const view = { shareId, lastSnapshot: 0, ...(snapshot !== undefined && { snapshot }) }
  const node = await world.kv.read((tx) => getNode(tx, view, nodeId))
  return node && fileFactsOf(node, allocatedBytesOf(handle))
}
