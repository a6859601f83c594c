// The listener of the SMB server. The code that serves connections is a quarter of Lazuli, so it is loaded with the
// first connection: most servers that tests start never see one.
import { createServer, type Server } from 'node:net'
import { removeOrphans } from '../storage/file/tree/orphan.ts'
import { hasPersistentOpens } from '../storage/file/open/persistent-open.ts'
import type { SmbWorld } from './world.ts'
import type { SmbServing } from './connection/serve.ts'

export type SmbListener = { readonly server: Server; close(): Promise<void> }

const CONNECTIONS_MAX = 8_192

export function createSmbListener(world: SmbWorld): SmbListener {
  let serving: Promise<SmbServing> | undefined
  const startServing = (): Promise<SmbServing> => {
    serving ??= import('./connection/serve.ts').then((smb) => smb.startServing(world))
    return serving
  }
  const prepared = prepare(world, startServing).catch((error: unknown) => world.logFault(error))
  let isClosed = false
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    prepared
      .then(startServing)
      .then((smb) => (isClosed ? socket.destroy() : smb.serve(socket)))
      .catch((error: unknown) => {
        world.logFault(error)
        socket.destroy()
      })
  })
  // Connections above the limit are closed at once.
  server.maxConnections = CONNECTIONS_MAX
  return {
    server,
    close: async () => {
      isClosed = true
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const connection of world.connections) connection.drop()
      await closed
      await prepared
      const smb = await serving?.catch(() => undefined)
      smb?.stop()
    },
  }
}

/** Persistent opens from before a restart block others even before their clients reconnect. */
async function prepare(world: SmbWorld, startServing: () => Promise<SmbServing>): Promise<void> {
  if (await world.kv.read(hasPersistentOpens)) await startServing()
  await world.kv.write((tx) => removeOrphans(tx))
}
