// A limit on the memory that all unauthenticated connections hold together. Limits per connection are not enough: a
// stranger can open any number of them. All ports of a server share it, HTTP and SMB.
//
// Over the limit, the oldest connection is dropped. A real client authenticates within milliseconds, so an old
// connection only holds memory.

export type MemoryHolder = {
  /** Closes the connection and frees its memory. */
  drop(): void
}

const BYTES_MAX = 64 * 1024 * 1024

/** The memory of an idle connection with TLS (measured: about 50 KiB). */
export const TLS_CONNECTION_BYTES = 64 * 1024

export class UnauthenticatedMemory {
  readonly #bytesMax: number
  /** Oldest first. */
  readonly #held = new Map<MemoryHolder, number>()
  #bytes = 0

  constructor(bytesMax = BYTES_MAX) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Sets how much `holder` holds now. This may drop it, or others. */
  hold(holder: MemoryHolder, bytes: number): void {
    this.#bytes += bytes - (this.#held.get(holder) ?? 0)
    this.#held.set(holder, bytes)
    for (const oldest of this.#held.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.release(oldest)
      oldest.drop()
    }
  }

  /** The connection has authenticated or closed. */
  release(holder: MemoryHolder): void {
    this.#bytes -= this.#held.get(holder) ?? 0
    this.#held.delete(holder)
  }
}
