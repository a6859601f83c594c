// A port that accepts connections, with or without TLS, and closes them in an orderly way when the server closes.
import { createServer, type Server, type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { UnauthenticatedMemory, type MemoryHolder } from '../../memory/unauthenticated-memory.ts'
import { isLoopbackAddress } from '../../auth/remote-address.ts'
import {
  HttpConnection,
  TLS_CONNECTION_BYTES,
  type ConnectionLimits,
  type Port,
} from './connection.ts'
import type { RequestHandler } from './exchange.ts'
import { nodeTls } from './node-modules.ts'

export const LISTENER_LIMITS: ConnectionLimits = {
  keepAliveMs: 5_000,
  headersMs: 60_000,
  silenceMs: 120_000,
  // URLs can be 64 KiB in theory; names, a SAS and 8 KiB of metadata fit many times over.
  headerBytesMax: 64 * 1024,
}

const HANDSHAKE_MS_MAX = 10_000
const CHECK_MS_MIN = 5
const CHECK_MS_MAX = 1_000

export type Listener = {
  readonly server: Server
  /** Accepts no more connections, waits for running requests, then resolves. */
  close(): Promise<void>
  /** The same without waiting for requests. */
  abort(): Promise<void>
}

export type TlsContext = Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase'>

export function createListener(
  handler: RequestHandler,
  limits: ConnectionLimits,
  tls: TlsContext | undefined,
  unauthenticated: UnauthenticatedMemory = new UnauthenticatedMemory(),
): Listener {
  const port: Port & { closing: boolean; onLoopback: boolean } = {
    handler,
    limits,
    secure: tls !== undefined,
    unauthenticated,
    onLoopback: false,
    closing: false,
  }
  const connections = new Set<HttpConnection>()
  const begin = (socket: Socket): void => {
    const connection = new HttpConnection(socket, port)
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
    // A handshake may end after the server has closed.
    if (port.closing) connection.close()
  }
  // A client that has finished sending may still wait for its answer, so half-open connections are allowed.
  const plain = { allowHalfOpen: true, noDelay: true }
  const server = tls === undefined ? createServer(plain, begin) : createTlsServer(tls, begin)
  if (tls !== undefined) countHandshakes(server, unauthenticated)
  const checking = setInterval(() => {
    const nowMs = performance.now()
    for (const connection of connections) connection.checkTimes(nowMs)
  }, checkMs(limits))
  checking.unref()
  server.on('listening', () => {
    const address = server.address()
    port.onLoopback =
      address !== null && typeof address === 'object' && isLoopbackAddress(address.address)
  })
  server.on('close', () => clearInterval(checking))
  const closeWith = (end: (connection: HttpConnection) => void): Promise<void> =>
    new Promise((resolve) => {
      port.closing = true
      server.close(() => resolve())
      for (const connection of connections) end(connection)
    })
  return {
    server,
    close: () => closeWith((connection) => connection.close()),
    abort: () => closeWith((connection) => connection.drop()),
  }
}

function createTlsServer(context: TlsContext, begin: (socket: Socket) => void): Server {
  const options = { ...context, noDelay: true, handshakeTimeout: HANDSHAKE_MS_MAX }
  const server = nodeTls().createServer({ ...options, ALPNProtocols: ['http/1.1'] }, begin)
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}

/** A client that never finishes its handshake takes memory, too. */
function countHandshakes(server: Server, unauthenticated: UnauthenticatedMemory): void {
  const handshakes = new Map<string, MemoryHolder>()
  const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
  const end = (peer: string): void => {
    const holder = handshakes.get(peer)
    handshakes.delete(peer)
    if (holder !== undefined) unauthenticated.release(holder)
  }
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    const holder = { drop: () => socket.destroy() }
    handshakes.set(peer, holder)
    socket.once('close', () => end(peer))
    unauthenticated.hold(holder, TLS_CONNECTION_BYTES)
  })
  server.prependListener('secureConnection', (socket: Socket) => end(peerOf(socket)))
}

/** Often enough that no limit is exceeded by more than half. */
function checkMs({ keepAliveMs, headersMs }: ConnectionLimits): number {
  const wantedMs = Math.min(keepAliveMs, headersMs) / 2
  return Math.min(Math.max(wantedMs, CHECK_MS_MIN), CHECK_MS_MAX)
}
