// Cache of chunks that were read at least twice. Reading one from the kernel's cache wakes a thread and copies the
// bytes, which takes as long as everything else that is done to send them. Extents never change, so a cached chunk
// is never stale.
//
// No eviction while full: under LRU, a repeated scan larger than the cache would never hit.
import type { Span } from './reader.ts'
import { hashNumbers, SeenFilter } from '../memory/seen.ts'

export type ChunkCacheLimits = { readonly bytesMax: number }

const LIMITS: ChunkCacheLimits = { bytesMax: 32 * 1_024 * 1_024 }
const SEEN_COUNT = 1_024
/** The cache is cleared after this many refusals per cached chunk: readers have moved on to other chunks. */
const REFUSED_RATIO = 4

export class ChunkCache {
  readonly #bytesMax: number
  readonly #chunks = new Map<string, Uint8Array>()
  readonly #seen = new SeenFilter(SEEN_COUNT)
  #bytes = 0
  #refusedCount = 0

  constructor({ bytesMax }: ChunkCacheLimits = LIMITS) {
    this.#bytesMax = bytesMax
  }

  get(span: Span): Uint8Array | undefined {
    return this.#chunks.get(nameOf(span))
  }

  /** Offers a chunk that was read. True if the cache keeps it: its memory must not be reused then. */
  offer(span: Span, chunk: Uint8Array): boolean {
    if (!this.#seen.mark(hashNumbers(span.extent ?? 0, span.offset, span.lengthBytes))) return false
    if (this.#bytes + chunk.length > this.#bytesMax) {
      this.#refusedCount += 1
      if (this.#refusedCount <= this.#chunks.size * REFUSED_RATIO) return false
      this.#clear()
    }
    const name = nameOf(span)
    // Another reader has read it at the same time.
    if (this.#chunks.has(name)) return false
    this.#chunks.set(name, chunk)
    this.#bytes += chunk.length
    return true
  }

  /** Drops the chunks of removed extents. */
  drop(extents: readonly number[]): void {
    const removed = new Set(extents)
    for (const [name, chunk] of this.#chunks) {
      if (!removed.has(Number.parseInt(name, 10))) continue
      this.#chunks.delete(name)
      this.#bytes -= chunk.length
    }
  }

  #clear(): void {
    this.#chunks.clear()
    this.#bytes = 0
    this.#refusedCount = 0
  }
}

/** Begins with the extent's id, which `drop` reads. */
function nameOf({ extent, offset, lengthBytes }: Span): string {
  return `${extent}:${offset}:${lengthBytes}`
}
