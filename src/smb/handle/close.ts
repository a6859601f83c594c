// The end of a handle: wakes everything that waits on it, and removes its record with its locks and its cache.
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { forgetReplay } from '../call.ts'
import type { SmbWorld, FileHandle, Handle } from '../world.ts'
import { detachHandle } from './durable.ts'
import { closeRecord } from '../../storage/file/open/close-open.ts'
import type { FileOpen } from '../../storage/file/open/open.ts'
import type { ShareAddress } from '../../storage/file/share/share.ts'

/** While the store is unavailable. */
const RETRY_MS = 1_000

export async function closeHandle(world: SmbWorld, handle: Handle): Promise<void> {
  const address = addressOf(handle)
  forgetHandle(world, handle)
  if (handle.kind === 'pipe') return
  const moment = world.moment()
  try {
    await world.kv.write((tx) => closeRecord(tx, address, handle.open, moment))
  } catch (error) {
    if (error instanceof StoreUnavailable) closeLater(world, address, handle.open)
    throw error
  }
}

/** Otherwise the open would block others for as long as this server runs. */
function closeLater(world: SmbWorld, address: ShareAddress | undefined, open: FileOpen): void {
  world.afterRealTime(RETRY_MS, () => {
    const moment = world.moment()
    world.kv
      .write((tx) => closeRecord(tx, address, open, moment))
      .catch((error: unknown) => {
        if (error instanceof StoreUnavailable) closeLater(world, address, open)
        else world.logFault(error)
      })
  })
}

/** The connection was lost: a durable handle stays, any other is closed. */
export async function disconnectHandle(world: SmbWorld, handle: Handle): Promise<void> {
  if (handle.kind === 'file' && (await isDetached(world, handle))) return
  await closeHandle(world, handle)
}

async function isDetached(world: SmbWorld, handle: FileHandle): Promise<boolean> {
  try {
    return await detachHandle(world, handle, (late) => closeHandle(world, late))
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // Whether it may stay can't be known now, unless it is detached already.
    return handle.session === undefined
  }
}

/** The share of the file. A handle that waits for its client has no tree. */
function addressOf(handle: Handle): ShareAddress | undefined {
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
