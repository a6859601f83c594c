// Restores persistent opens after a restart. They wait for their clients to reconnect.
import { restoreOpens } from '../../storage/file/open/persistent-open.ts'
import type { SmbWorld, FileHandle } from '../world.ts'
import { newChannelState } from './channel-sequence.ts'
import { closeHandle } from './close.ts'
import { persistentDurable, waitForClient } from './durable.ts'

/** Must run before any client is served. */
export async function restorePersistentOpens(world: SmbWorld): Promise<void> {
  const restored = await world.kv.write((tx) => restoreOpens(tx))
  for (const open of restored) {
    const id = BigInt(open.openId)
    const { persistent } = open
    const key = `${persistent.clientGuid}:${persistent.createGuid}`
    const handle: FileHandle = {
      kind: 'file',
      fileId: { persistent: id, volatile: id },
      session: undefined,
      tree: undefined,
      open,
      position: 0,
      mode: persistent.mode,
      lockSequences: new Map(),
      commandState: new Map(),
      onClose: new Set(),
      durable: persistentDurable(persistent),
      createKey: { key, action: 'opened' },
      channels: newChannelState({ status: 0 }),
    }
    world.handles.set(id, handle)
    world.creates.set(key, handle)
    waitForClient(world, handle, (late) => closeHandle(world, late))
  }
}
