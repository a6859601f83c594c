// The SMB server: listens, and tells each connection of the world that it lives in.
import { createServer, type Server } from 'node:net'
import type { SmbWorld } from './call.ts'
import { startBreaks } from './break.ts'
import { watchForcedCloses } from './close.ts'
import { serveConnection } from './connection.ts'
import { restorePersistentOpens } from './persistent.ts'

export type SmbListener = { readonly server: Server; close(): Promise<void> }

export function createSmbListener(world: SmbWorld): SmbListener {
  const stopWatching = watchForcedCloses(world)
  const stopBreaks = startBreaks(world)
  const restored = restorePersistentOpens(world).catch((error: unknown) => world.logFault(error))
  const server = createServer((socket) => {
    restored.then(() => serveConnection(socket, world)).catch(() => socket.destroy())
  })
  return {
    server,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const connection of world.connections) connection.drop()
      await closed
      stopWatching()
      stopBreaks()
    },
  }
}
