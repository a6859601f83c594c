// Streams pieces as chunks and reads ahead of the consumer. Not a generator: a generator that was never started does
// not run its `finally`, and the extents would stay pinned.
import type { Hole, Piece } from './content/slice.ts'

/** A run of bytes in one extent, or of zeros. */
export type Span = {
  readonly extent: number | undefined
  readonly offset: number
  readonly lengthBytes: number
}

/** The chunk is read-only: it may be shared. */
export type FetchChunk = (span: Span) => Promise<Uint8Array>

export const CHUNK_LENGTH_MAX = 512 * 1_024
/** Chunks that a slow client holds in addition to the current one. */
const AHEAD_COUNT = 1
const ZEROS = new Uint8Array(CHUNK_LENGTH_MAX)

/** Turns pieces into spans; adjacent ones in an extent become one. */
export function planSpans(pieces: readonly (Piece | Hole)[]): Span[] {
  const spans: Span[] = []
  for (const piece of pieces) {
    if (piece.lengthBytes === 0) continue
    const extent = piece.slice?.extent
    const offset = piece.slice === undefined ? 0 : piece.slice.offset + piece.from
    const last = spans.at(-1)
    const continued = last !== undefined && extent !== undefined && last.extent === extent
    if (continued && last.offset + last.lengthBytes === offset) {
      const lengthBytes = last.lengthBytes + piece.lengthBytes
      spans[spans.length - 1] = { extent, offset: last.offset, lengthBytes }
    } else {
      spans.push({ extent, offset, lengthBytes: piece.lengthBytes })
    }
  }
  return spans
}

export class SpanReader implements AsyncIterableIterator<Uint8Array> {
  readonly #spans: readonly Span[]
  readonly #fetch: FetchChunk
  readonly #release: () => void
  #index = 0
  #offset = 0
  readonly #aheadCount: number
  #ahead: Promise<Uint8Array>[] = []
  #isDone = false

  /** Calls `release` once, when nothing more will be fetched. */
  constructor(
    spans: readonly Span[],
    fetch: FetchChunk,
    release: () => void,
    aheadCount: number = AHEAD_COUNT,
  ) {
    this.#spans = spans
    this.#fetch = fetch
    this.#release = release
    this.#aheadCount = aheadCount
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const fetching = this.#ahead.shift() ?? this.#fetchNext()
    if (fetching === undefined) return this.return()
    this.#fetchAhead()
    try {
      return { value: await fetching, done: false }
    } catch (error) {
      this.#end()
      throw error
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#end()
    return { value: undefined, done: true }
  }

  #end(): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#ahead = []
    this.#release()
  }

  #fetchAhead(): void {
    while (this.#ahead.length < this.#aheadCount) {
      const fetching = this.#fetchNext()
      if (fetching === undefined) return
      this.#ahead.push(fetching)
    }
  }

  /** Advances synchronously, so that concurrent calls keep their order. */
  #fetchNext(): Promise<Uint8Array> | undefined {
    const span = this.#spans[this.#index]
    if (this.#isDone || span === undefined) return undefined
    const lengthBytes = Math.min(span.lengthBytes - this.#offset, CHUNK_LENGTH_MAX)
    const offset = span.offset + this.#offset
    this.#offset += lengthBytes
    if (this.#offset === span.lengthBytes) {
      this.#index += 1
      this.#offset = 0
    }
    if (span.extent === undefined) return Promise.resolve(ZEROS.subarray(0, lengthBytes))
    const fetching = this.#fetch({ extent: span.extent, offset, lengthBytes })
    // It may fail before the consumer awaits it.
    fetching.catch(() => undefined)
    return fetching
  }
}
