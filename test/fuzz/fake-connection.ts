// A connection without a network: bytes in, in packets of any length; out come the requests that the server has seen and
// what it has written.
import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { HttpConnection } from '../../src/http/protocol/connection.ts'
import { ClientGone } from '../../src/http/protocol/body.ts'
import type { Exchange } from '../../src/http/protocol/exchange.ts'
import { UnauthenticatedMemory } from '../../src/memory/unauthenticated-memory.ts'

export type ConnectionOutcome = {
  readonly input: Buffer
  readonly requests: readonly string[]
  /** The status lines that the client got. */
  readonly statuses: readonly string[]
}

class FakeSocket extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  written = ''

  setTimeout(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  destroySoon(): void {
    this.end(() => this.destroy())
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.toString('latin1')
    done()
  }
}

/** The client sends everything, then ends its side. Rejects if the server's code throws. */
export async function connectionOutcome(
  input: Buffer,
  packetBytes: number,
): Promise<ConnectionOutcome> {
  const requests: string[] = []
  const socket = new FakeSocket({ allowHalfOpen: true })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const faults: unknown[] = []
  const port = {
    handler: {
      handle: async (exchange: Exchange) => answer(exchange, requests),
      logFault: (error: unknown) => faults.push(error),
    },
    limits: {
      keepAliveMs: 60_000,
      headersMs: 60_000,
      silenceMs: 60_000,
      headerBytesMax: 64 * 1_024,
    },
    secure: false,
    unauthenticated: new UnauthenticatedMemory(),
    onLoopback: true,
    closing: false,
  }
  // What a connection uses of a socket is here.
  void new HttpConnection(socket as unknown as Socket, port)
  for (let at = 0; at < input.length; at += packetBytes) {
    socket.push(input.subarray(at, at + packetBytes))
  }
  socket.push(null)
  await closed
  if (faults.length > 0) throw faults[0]
  const statuses = [...socket.written.matchAll(/HTTP\/1\.1 \d{3}/g)].map(([status]) => status)
  return { input, requests, statuses }
}

async function answer(exchange: Exchange, requests: string[]): Promise<void> {
  const { head, body } = exchange
  try {
    const bytes = await body.read(1_000_000)
    requests.push(`${head.method} ${head.target} ${bytes.toString('latin1')}`)
    exchange.answer(200, [['Content-Length', '0']])
  } catch (error) {
    if (!(error instanceof ClientGone)) throw error
    requests.push(`${head.method} ${head.target} is incomplete`)
    exchange.drop()
  }
}
