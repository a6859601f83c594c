// Tells connections with TLS from those without by their first byte, for a port that takes both. 0x16 is the content type of
// a TLS handshake (RFC 8446 5.1), and no method of HTTP begins with it.
import type { Socket } from 'node:net'
import type { MemoryHolder, UnauthenticatedMemory } from '../../memory/unauthenticated-memory.ts'

const TLS_HANDSHAKE = 0x16
/** The memory of a connection that has sent nothing (measured: 5 KiB). */
const SILENT_BYTES = 8 * 1024

export type FirstByte = {
  /** Calls `tls` or `plain` with a connection from which nothing was taken. */
  take(socket: Socket): void
  /** Ends the connections that have sent nothing yet. */
  drop(): void
}

export type FirstByteTerms = {
  /** How long a client may send nothing. */
  readonly silentMs: number
  readonly unauthenticated: UnauthenticatedMemory
  readonly tls: (socket: Socket) => void
  readonly plain: (socket: Socket) => void
}

export function firstByte({ silentMs, unauthenticated, tls, plain }: FirstByteTerms): FirstByte {
  const silent = new Set<Socket>()
  const take = (socket: Socket): void => {
    const holder: MemoryHolder = { drop: () => socket.destroy() }
    const timer = setTimeout(() => socket.destroy(), silentMs)
    timer.unref()
    silent.add(socket)
    unauthenticated.hold(holder, SILENT_BYTES)
    const settle = (): void => {
      clearTimeout(timer)
      silent.delete(socket)
      unauthenticated.release(holder)
    }
    socket.once('close', settle)
    // 'close' follows.
    socket.on('error', () => undefined)
    socket.once('readable', () => {
      settle()
      socket.off('close', settle)
      const bytes: Buffer | null = socket.read()
      if (bytes === null) return void socket.destroy()
      socket.unshift(bytes)
      if (bytes[0] === TLS_HANDSHAKE) tls(socket)
      else plain(socket)
    })
  }
  return {
    take,
    drop: () => {
      for (const socket of silent) socket.destroy()
    },
  }
}
