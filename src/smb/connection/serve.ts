// The SMB server behind its listener: connections, and the tasks that run beside them.
import type { Socket } from 'node:net'
import type { RelayedClient } from '../../node/relayed-client.ts'
import { startBreaks } from '../handle/break.ts'
import type { SmbWorld } from '../world.ts'
import { watchForcedCloses } from '../handle/close.ts'
import { serveConnection } from './connection.ts'
import { restorePersistentOpens } from '../handle/persistent.ts'
import { scopeTimers } from './timer.ts'

export type SmbServing = {
  serve(socket: Socket, client: RelayedClient | undefined): void
  stop(): void
}

/** Restores persistent opens before it serves any client; fails if it can't. */
export async function startServing(shared: SmbWorld): Promise<SmbServing> {
  const timers = scopeTimers(shared)
  const { after, afterRealTime } = timers
  const world: SmbWorld = { ...shared, after, afterRealTime }
  const stopWatching = watchForcedCloses(world)
  const stopBreaks = startBreaks(world)
  const stop = (): void => {
    stopWatching()
    stopBreaks()
    timers.stop()
  }
  try {
    await restorePersistentOpens(world)
  } catch (error) {
    stop()
    throw error
  }
  return { serve: (socket, client) => serveConnection(socket, world, client), stop }
}
