// A port that accepts connections, with TLS, without or both, and closes them in an orderly way when the server closes.
import { createServer, type Server, type Socket } from 'node:net'
import type { SecureContextOptions, Server as TlsServer } from 'node:tls'
import { countHandshakes } from '../../memory/handshakes.ts'
import { UnauthenticatedMemory } from '../../memory/unauthenticated-memory.ts'
import type { RelayedClient } from '../../node/relayed-client.ts'
import { isLoopbackAddress } from '../../auth/remote-address.ts'
import { HttpConnection, type ConnectionLimits, type Port } from './connection.ts'
import type { RequestHandler } from './exchange.ts'
import { firstByte } from './first-byte.ts'
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
  /** Serves a connection that another node has accepted. */
  accept(socket: Socket, client: RelayedClient): void
  /** Ends all connections without waiting for requests. */
  dropConnections(): void
  /** The certificate for connections from now on. */
  renewTls(context: TlsContext): void
}

/** Decides what happens to a new connection: `serve` serves it here. */
export type Route = (socket: Socket, client: RelayedClient, serve: () => void) => void

export type ListenerOptions = {
  readonly unauthenticated?: UnauthenticatedMemory
  /** By default, every connection is served here. */
  readonly route?: Route | undefined
  /** With TLS: also accepts connections without. */
  readonly allowHttp?: boolean
}

export type TlsContext = Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase'>

/** The two kinds of connections share everything else. */
type PortState = { -readonly [K in keyof Port]: Port[K] }

export function createListener(
  handler: RequestHandler,
  limits: ConnectionLimits,
  tls: TlsContext | undefined,
  options: ListenerOptions = {},
): Listener {
  const { unauthenticated = new UnauthenticatedMemory(), route, allowHttp = false } = options
  const state = { handler, limits, unauthenticated, onLoopback: false, closing: false }
  const plainPort: PortState = { ...state, secure: false }
  const securePort: PortState = { ...state, secure: true }
  const ports = [plainPort, securePort]
  const connections = new Set<HttpConnection>()
  /** The ends of connections that other nodes accepted; the server does not know them. */
  const relayed = new Set<Promise<unknown>>()
  const begin = (socket: Socket, port: Port, client?: RelayedClient): void => {
    const connection = new HttpConnection(socket, port, client)
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
    // A handshake may end after the server has closed.
    if (port.closing) connection.close()
  }
  const takeAt =
    (port: Port) =>
    (socket: Socket): void => {
      const serve = (): void => {
        if (!socket.destroyed) begin(socket, port)
      }
      if (route === undefined) serve()
      else route(socket, clientOf(socket, port), serve)
    }
  const takePlain = takeAt(plainPort)
  const tlsServer = tls === undefined ? undefined : createTlsServer(tls, takeAt(securePort))
  if (tlsServer !== undefined) countHandshakes(tlsServer, unauthenticated)
  const sniffer =
    tlsServer === undefined || !allowHttp
      ? undefined
      : firstByte({
          silentMs: HANDSHAKE_MS_MAX,
          unauthenticated,
          plain: takePlain,
          tls: (socket) => {
            socket.allowHalfOpen = false
            tlsServer.emit('connection', socket)
          },
        })
  // A client that has finished sending may still wait for its answer, so half-open connections are allowed.
  const plain = { allowHalfOpen: true, noDelay: true }
  const server =
    tlsServer !== undefined && !allowHttp
      ? tlsServer
      : createServer(plain, sniffer === undefined ? takePlain : sniffer.take)
  const checking = setInterval(() => {
    const nowMs = performance.now()
    for (const connection of connections) connection.checkTimes(nowMs)
  }, checkMs(limits))
  checking.unref()
  server.on('listening', () => {
    const address = server.address()
    const onLoopback =
      address !== null && typeof address === 'object' && isLoopbackAddress(address.address)
    for (const port of ports) port.onLoopback = onLoopback
  })
  const closeWith = async (end: (connection: HttpConnection) => void): Promise<void> => {
    for (const port of ports) port.closing = true
    sniffer?.drop()
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    for (const connection of connections) end(connection)
    await closed
    await Promise.all(relayed)
    clearInterval(checking)
  }
  return {
    server,
    close: () => closeWith((connection) => connection.close()),
    abort: () => closeWith((connection) => connection.drop()),
    accept: (socket, client) => {
      if (socket.destroyed) return
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      relayed.add(ended)
      void ended.then(() => relayed.delete(ended))
      begin(socket, tls === undefined ? plainPort : securePort, client)
    },
    renewTls: (context) => tlsServer?.setSecureContext(context),
    dropConnections: () => {
      for (const connection of connections) connection.drop()
    },
  }
}

function clientOf(socket: Socket, { secure, onLoopback }: Port): RelayedClient {
  const { remoteAddress = '', remotePort = 0, localAddress = '' } = socket
  return { remoteAddress, remotePort, localAddress, secure, onLoopback }
}

function createTlsServer(context: TlsContext, begin: (socket: Socket) => void): TlsServer {
  const options = { ...context, noDelay: true, handshakeTimeout: HANDSHAKE_MS_MAX }
  const server = nodeTls().createServer({ ...options, ALPNProtocols: ['http/1.1'] }, begin)
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}

/** Often enough that no limit is exceeded by more than half. */
function checkMs({ keepAliveMs, headersMs }: ConnectionLimits): number {
  const wantedMs = Math.min(keepAliveMs, headersMs) / 2
  return Math.min(Math.max(wantedMs, CHECK_MS_MIN), CHECK_MS_MAX)
}
