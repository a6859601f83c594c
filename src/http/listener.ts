// The socket side of a front: node:http with its limits set, so that a slow, silent or malformed client is
// cut off and none of them reaches an operation.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions } from 'node:tls'
import { http, https } from './node-http.ts'

export type ListenerLimits = {
  /** How long an idle connection is kept for the next request. */
  readonly keepAliveMs: number
  /** How long the header of a request may take. */
  readonly headersMs: number
  /** How long a connection may be silent in the middle of a request or an answer. */
  readonly silenceMs: number
  readonly headerBytesMax: number
}

export const LISTENER_LIMITS: ListenerLimits = {
  keepAliveMs: 5_000,
  headersMs: 60_000,
  silenceMs: 120_000,
  // URLs reach 64 KiB in theory; names, SAS and 8 KiB of metadata fit in this many times over.
  headerBytesMax: 64 * 1024,
}

/** What answers the requests of a port. */
export type RequestHandler = {
  /** Answers every error that a request can cause; what it can't name is a fault of ours. */
  handle(req: IncomingMessage, res: ServerResponse, waits: boolean): Promise<void>
  logFault(error: unknown, requestId: string): void
}

export type Listener = {
  readonly server: Server
  /** Takes no more connections, lets requests under way end, then resolves. */
  close(): Promise<void>
}

export function createListener(
  handler: RequestHandler,
  limits: ListenerLimits,
  tls: Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase'> | undefined,
): Listener {
  const options = {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headersMs,
    // The whole of a request may take long (5,000 MiB over a thin line); silence may not.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(limits.headersMs, 5_000),
    noDelay: true,
  }
  const handshakeTimeout = Math.min(limits.headersMs, 10_000)
  const server =
    tls === undefined
      ? http.createServer(options)
      : https.createServer({ ...options, ...tls, handshakeTimeout })
  const connections = trackConnections(
    server,
    tls === undefined ? 'connection' : 'secureConnection',
  )
  const onRequest = (waits: boolean) => (req: IncomingMessage, res: ServerResponse) => {
    connections.begin(res)
    handler.handle(req, res, waits).catch((error: unknown) => {
      handler.logFault(error, '-')
      res.destroy()
    })
  }
  server.on('request', onRequest(false))
  server.on('checkContinue', onRequest(true))
  server.on('clientError', connections.refuse)
  server.on('tlsClientError', (_error: Error, socket: Duplex) => socket.destroy())
  server.setTimeout(limits.silenceMs, (socket: Duplex) => socket.destroy())
  return {
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        connections.close()
      }),
  }
}

/**
 * Which answers are under way on which connection. Node's own closeIdleConnections knows only those that
 * have had a request: one that is open and silent, as browsers and pools keep them, would hold up the end.
 */
function trackConnections(server: Server, event: 'connection' | 'secureConnection') {
  const answers = new Map<Socket, ServerResponse[]>()
  let closing = false
  server.on(event, (socket: Socket) => {
    // A handshake may end after the server has closed.
    if (closing) socket.destroy()
    answers.set(socket, [])
    socket.once('close', () => answers.delete(socket))
  })
  const ending = new WeakSet<Socket>()
  /** The last answer under way says that it is the last, and the connection ends with it. */
  const endAfter = (socket: Socket, last: ServerResponse): void => {
    last.shouldKeepAlive = false
    ending.add(socket)
  }
  /** One function for all: a listener made for each request would cost more than all else here. */
  function onClose(this: ServerResponse): void {
    const { socket } = this.req
    const underWay = answers.get(socket)
    if (underWay === undefined) return
    const at = underWay.indexOf(this)
    if (at >= 0) underWay.splice(at, 1)
    if (ending.has(socket) && underWay.length === 0) socket.destroySoon()
  }
  return {
    begin(res: ServerResponse): void {
      const { socket } = res.req
      answers.get(socket)?.push(res)
      if (closing) endAfter(socket, res)
      res.on('close', onClose)
    },
    /** Bytes that are no HTTP, too many header bytes, a header or a body that never ends. */
    refuse(error: NodeJS.ErrnoException, socket: Socket): void {
      const [first, ...others] = answers.get(socket) ?? []
      const last = others.at(-1) ?? first
      const isGone = !socket.writable || error.code === 'ECONNRESET'
      // What came whole before is answered; a refusal now would be taken for its answer.
      if (!isGone && last?.req.complete === true) endAfter(socket, last)
      else if (isGone || others.length > 0 || first?.headersSent === true) socket.destroy()
      else socket.end(refusal(error))
    },
    close(): void {
      closing = true
      for (const [socket, underWay] of answers) {
        const last = underWay.at(-1)
        if (last === undefined) socket.destroy()
        else endAfter(socket, last)
      }
    },
  }
}

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

function refusal(error: NodeJS.ErrnoException): string {
  const status = REFUSALS[error.code ?? ''] ?? '400 Bad Request'
  return `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`
}
