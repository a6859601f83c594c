// Two ends for tests of connections between nodes: a front, which accepts clients and relays them, and a home.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { PeerAddress } from '../node/cluster-node.ts'
import type { FilesHome, HomePlace } from '../node/home.ts'
import { connectingTls } from './link-tls.ts'
import { createPeerPort } from './port.ts'
import type { Preamble } from './preamble.ts'
import { Relays } from './relay.ts'

export const SECRET = Buffer.alloc(32, 7)

/** A home that the test moves. */
export class HandDrivenHome implements FilesHome {
  readonly #listeners = new Set<() => void>()
  #place: HomePlace
  #epoch = 0

  place(): HomePlace {
    return this.#place
  }

  epoch(): number {
    return this.#epoch
  }

  move(place: HomePlace): void {
    this.#place = place
    this.#epoch += 1
    for (const listener of this.#listeners) listener()
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

export type Home = {
  readonly address: PeerAddress
  readonly unauthenticated: UnauthenticatedMemory
  readonly strangers: string[]
  /** The next connection that a front relays. */
  next(): Promise<{ readonly socket: Socket; readonly preamble: Preamble }>
}

export async function startHome(t: TestContext, isHome = (): boolean => true): Promise<Home> {
  const accepted: { socket: Socket; preamble: Preamble }[] = []
  const waiting: (() => void)[] = []
  const strangers: string[] = []
  const unauthenticated = new UnauthenticatedMemory()
  const port = createPeerPort({
    secret: SECRET,
    unauthenticated,
    accept: (preamble) =>
      isHome()
        ? (socket) => {
            accepted.push({ socket, preamble })
            waiting.shift()?.()
          }
        : undefined,
    reportStranger: (_address, error) => strangers.push(String(error)),
  })
  port.server.listen(0, '127.0.0.1')
  await once(port.server, 'listening')
  t.after(() => port.close())
  const { port: number } = port.server.address() as AddressInfo
  return {
    address: { host: '127.0.0.1', port: number, node: 1 },
    unauthenticated,
    strangers,
    next: async () => {
      if (accepted.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      const [first] = accepted.splice(0, 1)
      if (first === undefined) throw new Error('no connection was accepted')
      return first
    },
  }
}

export type FrontEnd = {
  readonly home: HandDrivenHome
  readonly relays: Relays
  readonly unauthenticated: UnauthenticatedMemory
  /** Whether each client so far could be relayed. */
  readonly carried: boolean[]
  readonly unreachable: string[]
  /** A client that is connected, and the socket at the other end. */
  connect(): Promise<{ readonly client: Socket; readonly accepted: Socket }>
}

/** Relays every connection to `address`. */
export async function startFront(
  t: TestContext,
  address: PeerAddress,
  secret: Buffer = SECRET,
): Promise<FrontEnd> {
  const home = new HandDrivenHome()
  home.move(address)
  const unreachable: string[] = []
  const carried: boolean[] = []
  const unauthenticated = new UnauthenticatedMemory()
  const relays = new Relays({
    home,
    tls: connectingTls(secret),
    unauthenticated,
    reportUnreachable: (_address, error) => unreachable.push(String(error)),
  })
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const { remoteAddress = '', remotePort = 0, localAddress = '' } = socket
    const client = { remoteAddress, remotePort, localAddress, secure: false, onLoopback: true }
    void relays.carry(socket, address, { service: 'file', client }).then((isCarried) => {
      carried.push(isCarried)
      if (!isCarried) socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    relays.close()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    home,
    relays,
    unauthenticated,
    carried,
    unreachable,
    connect: async () => {
      const accepting = once(server, 'connection') as Promise<[Socket]>
      const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      client.on('error', () => undefined)
      t.after(() => client.destroy())
      const [accepted] = await accepting
      return { client, accepted }
    },
  }
}

/** Reads to the end. */
export async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (!socket.readableEnded && !socket.destroyed) {
    await new Promise<void>((resolve) => {
      socket.once('end', resolve)
      socket.once('close', () => resolve())
    })
  }
  return Buffer.concat(chunks)
}
