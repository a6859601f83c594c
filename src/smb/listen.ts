// The port of the SMB server. What serves a connection is a quarter of all that Lazuli is made of, so it is loaded with
// the first one: most servers that are started for a test never see any.
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
  const begun = begin(world, startServing).catch((error: unknown) => world.logFault(error))
  let isClosed = false
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    begun
      .then(startServing)
      .then((smb) => (isClosed ? socket.destroy() : smb.serve(socket)))
      .catch((error: unknown) => {
        world.logFault(error)
        socket.destroy()
      })
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
      await begun
      const smb = await serving?.catch(() => undefined)
      smb?.stop()
    },
  }
}

/** Who holds a file open beyond a restart stands in the way of others before it is back. */
async function begin(world: SmbWorld, startServing: () => Promise<SmbServing>): Promise<void> {
  if (await world.kv.read(hasPersistentOpens)) await startServing()
  await world.kv.write((tx) => removeOrphans(tx))
}
