// Extents of one store in this process that another one reads: a fork has the content that it began with without copying a
// byte. They are pinned until the fork closes, so the sweep of their store leaves them where they are.
import assert from 'node:assert/strict'
import { wholeSlice } from './content/slice-list.ts'
import type { SweptExtentStore } from './extent.ts'
import type { Span } from './reader.ts'

export class SharedExtents {
  readonly #store: SweptExtentStore
  /** How to unpin each of them. */
  readonly #pins = new Map<number, () => void>()

  constructor(store: SweptExtentStore) {
    this.#store = store
  }

  /** Call it while no sweep runs and records of their store still refer to them. */
  add(extents: Iterable<number>): void {
    for (const extent of extents) {
      if (!this.#pins.has(extent)) this.#pins.set(extent, this.#store.pin(new Set([extent])))
    }
  }

  /** The bytes of a span, which is at most a chunk; undefined if its extent is not shared. */
  fetch(span: Span): Promise<Uint8Array> | undefined {
    const { extent } = span
    return extent !== undefined && this.#pins.has(extent) ? this.#read(extent, span) : undefined
  }

  recycle(chunk: Uint8Array): void {
    this.#store.recycle(chunk)
  }

  /** undefined if the extent is not shared. */
  async storedBytes(extent: number): Promise<number | undefined> {
    return this.#pins.has(extent) ? this.#store.storedBytes(extent) : undefined
  }

  close(): void {
    for (const unpin of this.#pins.values()) unpin()
    this.#pins.clear()
  }

  async #read(extent: number, { offset, lengthBytes }: Span): Promise<Uint8Array> {
    const reader = this.#store.read([wholeSlice({ extent, offset, lengthBytes, crc32: 0 })], 0)
    try {
      const { value: chunk } = await reader.next()
      assert(chunk instanceof Uint8Array && chunk.length === lengthBytes, 'a span is one chunk')
      return chunk
    } finally {
      await reader.return?.()
    }
  }
}
