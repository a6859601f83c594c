// The reads that are open in this process: which extents they need, and when the oldest began. A sweep on another node
// only learns the latter.
export class OpenReads {
  readonly #clock: () => number
  readonly #pins = new Map<number, number>()
  readonly #begunAtMs = new Map<symbol, number>()

  /** The sweep's clock. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Pins the extents until the returned function is called. */
  begin(extents: ReadonlySet<number>): () => void {
    const read = Symbol('read')
    this.#begunAtMs.set(read, this.#clock())
    for (const extent of extents) this.#pins.set(extent, (this.#pins.get(extent) ?? 0) + 1)
    return () => {
      if (!this.#begunAtMs.delete(read)) return
      for (const extent of extents) this.#unpin(extent)
    }
  }

  isPinned(extent: number): boolean {
    return this.#pins.has(extent)
  }

  oldestMs(): number | undefined {
    let oldestMs: number | undefined
    // All of them: the clock may have been set back.
    for (const ms of this.#begunAtMs.values()) oldestMs = Math.min(ms, oldestMs ?? ms)
    return oldestMs
  }

  #unpin(extent: number): void {
    const count = (this.#pins.get(extent) ?? 0) - 1
    if (count > 0) this.#pins.set(extent, count)
    else this.#pins.delete(extent)
  }
}
