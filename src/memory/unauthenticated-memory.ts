// How much memory all connections together may hold before anybody has authenticated on them. Limits for each
// connection are not enough: a stranger can open any number of them. Shared by every port of a server, whatever it
// speaks.
//
// When there is too much, the connection that has been here the longest is dropped. A client that means to
// authenticate does so within milliseconds, so what is old holds memory and nothing else.

export type MemoryHolder = {
  /** Ends the connection and lets go of what it holds. */
  drop(): void
}

const BYTES_MAX = 64 * 1024 * 1024

export class UnauthenticatedMemory {
  readonly #bytesMax: number
  /** In the order in which they came. */
  readonly #held = new Map<MemoryHolder, number>()
  #bytes = 0

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** `holder` holds this much now. It may be dropped by that, or others may. */
  hold(holder: MemoryHolder, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(holder) ?? 0)
    this.#held.set(holder, bytes)
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.release(oldest)
      oldest.drop()
    }
  }

  /** It has authenticated, or is gone. */
  release(holder: MemoryHolder): void {
    this.#bytes -= this.#held.get(holder) ?? 0
    this.#held.delete(holder)
  }
}
