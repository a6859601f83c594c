// The end of a handle: wakes everything that waits on it, and removes its record with its locks and its cache.
import { forgetReplay } from '../call.ts'
import type { SmbWorld, FileHandle, Handle } from '../world.ts'
import { detachHandle } from './durable.ts'
import { closeRecord } from '../../storage/file/open/close-open.ts'

export async function closeHandle(world: SmbWorld, handle: Handle): Promise<void> {
  const address = addressOf(handle)
  forgetHandle(world, handle)
  if (handle.kind === 'pipe') return
  const moment = world.moment()
  await world.kv.write((tx) => closeRecord(tx, address, handle.open, moment))
}

/** The connection was lost: a durable handle stays, any other is closed. */
export async function disconnectHandle(world: SmbWorld, handle: Handle): Promise<void> {
  const close = (late: FileHandle): Promise<void> => closeHandle(world, late)
  if (handle.kind === 'file' && (await detachHandle(world, handle, close))) return
  await closeHandle(world, handle)
}

/** The share of the file. A handle that waits for its client has no tree. */
function addressOf(handle: Handle): { account: string; share: string } | undefined {
  const { tree } = handle
  if (tree?.kind === 'disk') return { account: tree.account, share: tree.share }
  return handle.kind === 'file' ? handle.durable : undefined
}

/** Drops handles that REST has closed by force or that were deleted with their share. Their records are already gone. */
export function watchForcedCloses(world: SmbWorld): () => void {
  return world.kv.listen((event) => {
    if (event.kind !== 'close') return
    const handle = world.handles.get(BigInt(event.open.openId))
    if (handle !== undefined) forgetHandle(world, handle)
  })
}

function forgetHandle(world: SmbWorld, handle: Handle): void {
  world.handles.delete(handle.fileId.volatile)
  handle.session?.handles.delete(handle.fileId.volatile)
  handle.session = undefined
  handle.tree = undefined
  if (handle.kind === 'pipe') return
  handle.durable?.cancelTimer?.()
  forgetReplay(world, handle)
  for (const wake of handle.onClose) wake()
  handle.onClose.clear()
}
