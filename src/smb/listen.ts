// The SMB server without its port, and a listener for it. The code that serves connections is a quarter of Lazuli, so it
// is loaded with the first connection: most servers that tests start never see one.
import { createServer, type Server, type Socket } from 'node:net'
import type { RelayedClient } from '../node/relayed-client.ts'
import { removeOrphans } from '../storage/file/tree/orphan.ts'
import { hasPersistentOpens } from '../storage/file/open/persistent-open.ts'
import { viewOfSmb, type SmbView } from './view.ts'
import type { SmbWorld } from './world.ts'
import type { SmbServing } from './connection/serve.ts'

export type SmbListener = {
  readonly server: Server
  /** Undefined while another node serves the files. */
  view(): SmbView | undefined
  close(): Promise<void>
}

export type SmbServer = {
  /** Resolves when persistent opens from before the start block others again; rejects if they can't be restored. */
  readonly prepared: Promise<void>
  /** Serves a connection. `client`: another node accepted it. */
  accept(socket: Socket, client?: RelayedClient): void
  /** Ends all connections and accepts no more. Resolves when they have ended. */
  drop(): Promise<void>
  /** Ends everything else; called after `drop`. */
  stop(): Promise<void>
}

/** Connections above the limit are closed at once. */
export const SMB_CONNECTIONS_MAX = 8_192

export function createSmbListener(world: SmbWorld): SmbListener {
  const smb = startSmb(world)
  const server = createServer((socket) => smb.accept(socket))
  server.maxConnections = SMB_CONNECTIONS_MAX
  const view = viewOfSmb(world)
  return {
    server,
    view: () => view,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      await smb.drop()
      await closed
      await smb.stop()
    },
  }
}

export function startSmb(world: SmbWorld): SmbServer {
  let serving: Promise<SmbServing> | undefined
  const startServing = (): Promise<SmbServing> => {
    serving ??= import('./connection/serve.ts').then((smb) => smb.startServing(world))
    // The next connection tries again.
    serving.catch(() => {
      serving = undefined
    })
    return serving
  }
  const prepared = prepare(world, startServing)
  const attempted = prepared.catch((error: unknown) => world.logFault(error))
  let isClosed = false
  const sockets = new Set<Socket>()
  return {
    prepared,
    accept: (socket, client) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      socket.on('error', () => socket.destroy())
      attempted
        .then(startServing)
        .then((smb) => (isClosed ? socket.destroy() : smb.serve(socket, client)))
        .catch((error: unknown) => {
          world.logFault(error)
          socket.destroy()
        })
    },
    drop: async () => {
      isClosed = true
      const closed = [...sockets].map((socket) => closeOf(socket))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
    stop: async () => {
      await attempted
      const smb = await serving?.catch(() => undefined)
      smb?.stop()
    },
  }
}

function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve()
    else socket.once('close', () => resolve())
  })
}

/** Persistent opens from before a restart block others even before their clients reconnect. */
async function prepare(world: SmbWorld, startServing: () => Promise<SmbServing>): Promise<void> {
  if (await world.kv.read(hasPersistentOpens)) await startServing()
  await world.kv.write((tx) => removeOrphans(tx))
}
