// Opens a connection to another node for one client.
import type { Socket } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import type { PeerAddress } from '../node/cluster-node.ts'
import { keepOpen } from './link-tls.ts'
import { ACCEPTED, encodePreamble, readAnswer, type Preamble } from './preamble.ts'

/** For the connection, the handshake and the answer together. */
const OPEN_MS_MAX = 5_000
/** The other node is not the home any more, or not yet. */
export class NotTheHome extends Error {}

/** Returns the connection once the other node has accepted it; the first bytes on it are the client's. */
export async function openLink(
  tls: ConnectionOptions,
  { host, port }: PeerAddress,
  preamble: Preamble,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({ ...tls, host, port })
  const end = (): void => void socket.destroy()
  const timer = setTimeout(() => socket.destroy(new Error('the node did not answer')), OPEN_MS_MAX)
  signal.addEventListener('abort', end)
  // Kept for the socket's life: an error without a listener would end the process. 'close' follows it.
  let failure: unknown
  socket.on('error', (error) => {
    failure ??= error
  })
  try {
    signal.throwIfAborted()
    await secured(socket)
    keepOpen(socket)
    socket.write(encodePreamble(preamble))
    if ((await readAnswer(socket)) === ACCEPTED) return socket
    throw new NotTheHome('the node is not the home of the files')
  } catch (error) {
    socket.destroy()
    throw failure ?? error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

function secured(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', resolve)
    socket.once('close', () => reject(new Error('the connection ended')))
  })
}
