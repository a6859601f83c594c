// Relays the connections of clients to the home of the files: bytes in both directions, as fast as the slower side reads.
import type { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import {
  TLS_CONNECTION_BYTES,
  type UnauthenticatedMemory,
} from '../memory/unauthenticated-memory.ts'
import type { PeerAddress } from '../node/cluster-node.ts'
import type { FilesHome } from '../node/home.ts'
import { openLink } from './link.ts'
import type { Preamble } from './preamble.ts'

export type RelaySettings = {
  readonly home: FilesHome
  readonly tls: ConnectionOptions
  readonly unauthenticated: UnauthenticatedMemory
  /** Called if the home can't be reached. */
  reportUnreachable(address: PeerAddress, error: unknown): void
}

/** The kernel finds clients that vanished. */
const KEEP_ALIVE_MS = 60_000

/** A class, because it has a lifetime. */
export class Relays {
  readonly #settings: RelaySettings
  /** The sockets of clients, and the home that each is relayed to. */
  readonly #clients = new Map<Socket, PeerAddress>()
  readonly #stopListening: () => void
  #isClosed = false

  constructor(settings: RelaySettings) {
    this.#settings = settings
    this.#stopListening = settings.home.listen(() => this.#dropMoved())
  }

  /** The connections being relayed. */
  get count(): number {
    return this.#clients.size
  }

  /**
   * Relays a connection, which nobody has read from yet. Returns false, with the connection unchanged, if the home can't be
   * reached; true also if the client has gone in the meantime.
   */
  async carry(client: Socket, address: PeerAddress, preamble: Preamble): Promise<boolean> {
    const { tls, unauthenticated, reportUnreachable } = this.#settings
    const opening = new AbortController()
    const cancel = (): void => opening.abort()
    const holder = { drop: () => void client.destroy() }
    client.on('error', () => undefined)
    if (this.#isClosed) client.destroy()
    client.once('close', cancel)
    this.#clients.set(client, address)
    client.once('close', () => this.#clients.delete(client))
    unauthenticated.hold(holder, TLS_CONNECTION_BYTES)
    try {
      const link = await openLink(tls, address, preamble, opening.signal)
      // The home limits what connections without a login hold, so it drops relayed ones, too.
      if (client.destroyed) link.destroy()
      else join(client, link)
      client.setNoDelay(true)
      client.setKeepAlive(true, KEEP_ALIVE_MS)
      return true
    } catch (error) {
      if (client.destroyed) return true
      this.#clients.delete(client)
      reportUnreachable(address, error)
      return false
    } finally {
      client.off('close', cancel)
      unauthenticated.release(holder)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#stopListening()
    for (const client of this.#clients.keys()) client.destroy()
  }

  /** A home that vanished without a word would keep its clients waiting. */
  #dropMoved(): void {
    const place = this.#settings.home.place()
    const now = place === 'here' ? undefined : place
    for (const [client, { node, host, port }] of this.#clients) {
      const isSame = now?.node === node && now.host === host && now.port === port
      if (!isSame) client.destroy()
    }
  }
}

/** Connects two sockets. Each ends when the other has ended, and is cut off when the other is. */
export function join(one: Socket, other: Socket): void {
  one.pipe(other)
  other.pipe(one)
  one.once('close', () => endAfter(one, other))
  other.once('close', () => endAfter(other, one))
}

/** What a proper end left in the buffer is still sent. */
function endAfter(closed: Socket, other: Socket): void {
  if (closed.readableEnded) other.destroySoon()
  else other.destroy()
}
