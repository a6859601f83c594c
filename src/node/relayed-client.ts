// The client of a connection that another node accepted and relayed to this one.

export type RelayedClient = {
  readonly remoteAddress: string
  readonly remotePort: number
  /** The address to which the client connected. */
  readonly localAddress: string
  /** The client uses TLS. */
  readonly secure: boolean
  /** Only the machine of the accepting node can reach its port. */
  readonly onLoopback: boolean
}
