// Extents in memory, for `--inMemoryPersistence`. Each write is an extent of its own, sealed from the start, so each
// is freed on its own and nothing needs compaction. A fork also reads extents of the store that it began with.
import { crc32 } from 'node:zlib'
import type { Kv } from '../kv/kv.ts'
import { ExtentDamaged, ExtentLimitReached } from './error.ts'
import type { Hasher, SweptExtentStore } from './extent.ts'
import { registerExtent, type ExtentRecord } from './keys.ts'
import { OpenReads } from './open-reads.ts'
import { planSpans, SpanReader, type Span } from './reader.ts'
import { sized } from './region.ts'
import type { SharedExtents } from './shared-extents.ts'
import type { Hole, Piece, Slice } from './content/slice.ts'

export type MemoryExtentOptions = {
  readonly kv: Kv
  readonly clock: () => number
  readonly limitBytes?: number
  /** Extents of another store that this one reads; their ids are used for no others. */
  readonly shared?: SharedExtents
}

const SEGMENT_BYTES = 1_024 * 1_024

export function openMemoryExtents(options: MemoryExtentOptions): SweptExtentStore {
  return new MemoryExtents(options)
}

type Bytes = { readonly segments: readonly Uint8Array[]; readonly lengthBytes: number }

class MemoryExtents implements SweptExtentStore {
  readonly #kv: Kv
  readonly #clock: () => number
  readonly #limitBytes: number
  readonly #shared: SharedExtents | undefined
  readonly #extents = new Map<number, Bytes>()
  readonly #reads: OpenReads
  /** Bytes stored or being written. */
  #takenBytes = 0

  constructor(options: MemoryExtentOptions) {
    this.#kv = options.kv
    this.#clock = options.clock
    this.#limitBytes = options.limitBytes ?? Infinity
    this.#shared = options.shared
    this.#reads = new OpenReads(options.clock)
  }

  async write(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    hashers: readonly Hasher[],
  ): Promise<Slice> {
    if (this.#takenBytes + lengthBytes > this.#limitBytes) {
      throw new ExtentLimitReached(this.#limitBytes)
    }
    this.#takenBytes += lengthBytes
    try {
      const segments: Uint8Array[] = []
      let crc = 0
      for await (const chunk of gathered(source, lengthBytes)) {
        crc = crc32(chunk, crc)
        for (const hasher of hashers) hasher.update(chunk)
        segments.push(chunk)
      }
      const extent = await this.#register(lengthBytes)
      this.#extents.set(extent, { segments, lengthBytes })
      return { extent, offset: 0, lengthBytes, crc32: crc }
    } catch (error) {
      this.#takenBytes -= lengthBytes
      throw error
    }
  }

  read(pieces: readonly (Piece | Hole)[]): AsyncIterableIterator<Uint8Array> {
    const spans = planSpans(pieces)
    // The reader holds the bytes themselves, so it may outlive the extent.
    const held = new Map<number, Bytes>()
    for (const { extent = 0 } of spans) {
      const bytes = this.#extents.get(extent)
      if (bytes !== undefined) held.set(extent, bytes)
    }
    const end = this.#reads.begin(new Set())
    return new SpanReader(
      spans,
      async (span) => this.#shared?.fetch(span) ?? readBytes(held, span),
      () => {
        held.clear()
        end()
      },
    )
  }

  /** Chunks of its own are the stored bytes themselves, so they are not reused. */
  recycle(chunk: Uint8Array): void {
    this.#shared?.recycle(chunk)
  }

  sizeBytes(): number {
    return this.#takenBytes
  }

  async close(): Promise<void> {
    this.#extents.clear()
    this.#takenBytes = 0
    this.#shared?.close()
  }

  openBytes(_extent: number): undefined {}

  async seal(_extent: number): Promise<void> {}

  async sealAbandoned(): Promise<void> {}

  pin(extents: ReadonlySet<number>): () => void {
    return this.#reads.begin(extents)
  }

  isPinned(extent: number): boolean {
    return this.#reads.isPinned(extent)
  }

  oldestReadMs(): number | undefined {
    return this.#reads.oldestMs()
  }

  async remove(extents: readonly number[]): Promise<void> {
    for (const extent of extents) {
      this.#takenBytes -= this.#extents.get(extent)?.lengthBytes ?? 0
      this.#extents.delete(extent)
    }
  }

  async list(): Promise<readonly number[]> {
    return [...this.#extents.keys()]
  }

  async storedBytes(extent: number): Promise<number | undefined> {
    return this.#extents.get(extent)?.lengthBytes ?? this.#shared?.storedBytes(extent)
  }

  #register(sizeBytes: number): Promise<number> {
    const sealedAtMs = this.#clock()
    const record: ExtentRecord = { state: 'sealed', sizeBytes, writer: 'memory', sealedAtMs }
    return this.#kv.write((tx) => registerExtent(tx, record))
  }
}

/** Copies into segments of one size, the last one shorter: a small chunk may keep a large buffer alive. */
async function* gathered(
  source: AsyncIterable<Uint8Array>,
  lengthBytes: number,
): AsyncGenerator<Uint8Array> {
  let segment = Buffer.alloc(0)
  let filled = 0
  let left = lengthBytes
  for await (const chunk of sized(source, lengthBytes)) {
    for (let taken = 0; taken < chunk.length;) {
      if (filled === segment.length) {
        segment = Buffer.allocUnsafeSlow(Math.min(left, SEGMENT_BYTES))
        left -= segment.length
        filled = 0
      }
      const part = chunk.subarray(taken, taken + segment.length - filled)
      segment.set(part, filled)
      filled += part.length
      taken += part.length
      if (filled === segment.length) yield segment
    }
  }
}

function readBytes(held: ReadonlyMap<number, Bytes>, span: Span): Uint8Array {
  const extent = span.extent ?? 0
  const bytes = held.get(extent)
  if (bytes === undefined) throw new ExtentDamaged(extent, 'it is missing')
  const parts: Uint8Array[] = []
  let at = span.offset
  const end = span.offset + span.lengthBytes
  while (at < end) {
    const segment = bytes.segments[Math.floor(at / SEGMENT_BYTES)]
    if (segment === undefined) throw new ExtentDamaged(extent, `it ends before byte ${at}`)
    const start = at % SEGMENT_BYTES
    const part = segment.subarray(start, Math.min(segment.length, start + end - at))
    if (part.length === 0) throw new ExtentDamaged(extent, `it ends before byte ${at}`)
    parts.push(part)
    at += part.length
  }
  const [only] = parts
  return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
}
