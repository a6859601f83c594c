// Counts the memory of TLS handshakes: a client that never finishes its handshake takes memory, too.
import type { Server, Socket } from 'node:net'
import {
  TLS_CONNECTION_BYTES,
  type MemoryHolder,
  type UnauthenticatedMemory,
} from './unauthenticated-memory.ts'

/** For a TLS server. */
export function countHandshakes(server: Server, unauthenticated: UnauthenticatedMemory): void {
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
