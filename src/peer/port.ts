// The port for other nodes. A connection that proves to know the secret of the cluster says whose it is, and is handed on
// as if it had been accepted here. Anything else is closed, soon and without much memory.
import type { Server, Socket } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { countHandshakes } from '../memory/handshakes.ts'
import {
  TLS_CONNECTION_BYTES,
  type UnauthenticatedMemory,
} from '../memory/unauthenticated-memory.ts'
import { acceptingTls, keepOpen } from './link-tls.ts'
import { ACCEPTED, ConnectionEnded, readPreamble, REFUSED, type Preamble } from './preamble.ts'

export type PeerPort = { readonly server: Server; close(): Promise<void> }

export type PeerPortSettings = {
  readonly secret: Buffer
  readonly unauthenticated: UnauthenticatedMemory
  /** Returns the function that serves the connection, or undefined if this node is not the home. */
  accept(preamble: Preamble): ((socket: Socket) => void) | undefined
  /** Called for connections that are not from a node of the cluster. */
  reportStranger(remoteAddress: string | undefined, error: unknown): void
}

const HANDSHAKE_MS_MAX = 5_000
const PREAMBLE_MS_MAX = 5_000
/** Two ports with 8,192 connections each. More are closed at once. */
const CONNECTIONS_MAX = 16_384

export function createPeerPort(settings: PeerPortSettings): PeerPort {
  const { secret, unauthenticated, reportStranger } = settings
  /** Below TLS, from the first byte. */
  const sockets = new Set<Socket>()
  const options = { ...acceptingTls(secret), handshakeTimeout: HANDSHAKE_MS_MAX }
  const server = createServer(options, (socket) => {
    keepOpen(socket)
    welcome(settings, socket).catch((error: unknown) => {
      socket.destroy()
      if (!(error instanceof ConnectionEnded)) reportStranger(socket.remoteAddress, error)
    })
  })
  server.maxConnections = CONNECTIONS_MAX
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  countHandshakes(server, unauthenticated)
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    // Not worth a word if it only went away: a node whose client has gone does that, and so do checks of the port.
    if (error.code !== 'ECONNRESET') reportStranger(socket.remoteAddress, error)
    socket.destroy()
  })
  return {
    server,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Reads the preamble, answers it and hands the connection on. */
async function welcome(settings: PeerPortSettings, socket: TLSSocket): Promise<void> {
  const { unauthenticated, accept } = settings
  const holder = { drop: () => void socket.destroy() }
  const timer = setTimeout(() => socket.destroy(), PREAMBLE_MS_MAX)
  // Kept for the socket's life: an error without a listener would end the process. 'close' follows it.
  socket.on('error', () => undefined)
  unauthenticated.hold(holder, TLS_CONNECTION_BYTES)
  try {
    const preamble = await readPreamble(socket)
    if (preamble === undefined) throw new Error('its first line is not valid')
    const serve = accept(preamble)
    if (serve === undefined) socket.end(Buffer.of(REFUSED))
    else {
      socket.write(Buffer.of(ACCEPTED))
      serve(socket)
    }
  } finally {
    clearTimeout(timer)
    unauthenticated.release(holder)
  }
}
