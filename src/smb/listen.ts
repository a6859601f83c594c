// The SMB server: listens, and tells each connection of the world that it lives in.
import { createServer, type Server } from 'node:net'
import { removeOrphans } from '../storage/file/orphan.ts'
import type { SmbWorld } from './call.ts'
import { startBreaks } from './break.ts'
import { watchForcedCloses } from './close.ts'
import { serveConnection } from './connection.ts'
import { restorePersistentOpens } from './persistent.ts'
import { scopeTimers } from './timer.ts'

export type SmbListener = { readonly server: Server; close(): Promise<void> }

const CONNECTIONS_MAX = 8_192

export function createSmbListener(shared: SmbWorld): SmbListener {
  const timers = scopeTimers(shared)
  const world: SmbWorld = { ...shared, after: timers.after }
  const stopWatching = watchForcedCloses(world)
  const stopBreaks = startBreaks(world)
  const restored = restorePersistentOpens(world)
    .then(() => world.kv.writeLive((tx) => removeOrphans(tx)))
    .catch((error: unknown) => world.logFault(error))
  let isClosed = false
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    restored
      .then(() => (isClosed ? socket.destroy() : serveConnection(socket, world)))
      .catch(() => socket.destroy())
  })
  // Those above it are closed at once.
  server.maxConnections = CONNECTIONS_MAX
  return {
    server,
    close: async () => {
      isClosed = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const connection of world.connections) connection.drop()
      await closed
      stopWatching()
      stopBreaks()
      timers.stop()
    },
  }
}
