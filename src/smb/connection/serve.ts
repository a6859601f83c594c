// The SMB server behind its listener: connections, and the tasks that run beside them.
import type { Socket } from 'node:net'
import { startBreaks } from '../handle/break.ts'
import type { SmbWorld } from '../world.ts'
import { watchForcedCloses } from '../handle/close.ts'
import { serveConnection } from './connection.ts'
import { restorePersistentOpens } from '../handle/persistent.ts'
import { scopeTimers } from './timer.ts'

export type SmbServing = { serve(socket: Socket): void; stop(): void }

/** Restores persistent opens before it serves any client. */
export async function startServing(shared: SmbWorld): Promise<SmbServing> {
  const timers = scopeTimers(shared)
  const world: SmbWorld = { ...shared, after: timers.after }
  const stopWatching = watchForcedCloses(world)
  const stopBreaks = startBreaks(world)
  await restorePersistentOpens(world).catch((error: unknown) => world.logFault(error))
  return {
    serve: (socket) => serveConnection(socket, world),
    stop: () => {
      stopWatching()
      stopBreaks()
      timers.stop()
    },
  }
}
