// Chunks that were read of late, from the second time on: to read one wakes a thread and copies its bytes out of the
// kernel's cache, which takes as long as all else that is done to send them. What is in an extent never changes, so a chunk
// is right for as long as there is anybody who asks for it.
//
// The first come stay: who reads more than there is room for, again and again from its beginning, would otherwise find nothing.
import type { Span } from '../reader.ts'
import { setBounded } from '../../memory/remember.ts'

export type RecentChunksLimits = { readonly bytesMax: number }

const LIMITS: RecentChunksLimits = { bytesMax: 32 * 1_024 * 1_024 }
const SEEN_COUNT = 1_024
/** When so many times as many were refused as there are, others are asked for now, and it begins anew. */
const REFUSED_RATIO = 4

export class RecentChunks {
  readonly #bytesMax: number
  readonly #kept = new Map<string, Uint8Array>()
  readonly #seen = new Map<string, true>()
  #keptBytes = 0
  #refusedCount = 0

  constructor({ bytesMax }: RecentChunksLimits = LIMITS) {
    this.#bytesMax = bytesMax
  }

  find(span: Span): Uint8Array | undefined {
    return this.#kept.get(placeOf(span))
  }

  /** Whether it stays: then its memory is nobody's to use again. */
  keep(span: Span, chunk: Uint8Array): boolean {
    const place = placeOf(span)
    if (!this.#seen.has(place)) {
      setBounded(this.#seen, place, true, SEEN_COUNT)
      return false
    }
    if (this.#keptBytes + chunk.length > this.#bytesMax) {
      this.#refusedCount += 1
      if (this.#refusedCount <= this.#kept.size * REFUSED_RATIO) return false
      this.#clear()
    }
    // Two who read it at the same time.
    if (this.#kept.has(place)) return false
    this.#kept.set(place, chunk)
    this.#keptBytes += chunk.length
    return true
  }

  /** These extents are gone. */
  drop(extents: readonly number[]): void {
    const gone = new Set(extents)
    for (const [place, chunk] of this.#kept) {
      if (!gone.has(Number.parseInt(place, 10))) continue
      this.#kept.delete(place)
      this.#keptBytes -= chunk.length
    }
  }

  #clear(): void {
    this.#kept.clear()
    this.#keptBytes = 0
    this.#refusedCount = 0
  }
}

function placeOf({ extent, offset, lengthBytes }: Span): string {
  return `${extent}:${offset}:${lengthBytes}`
}
