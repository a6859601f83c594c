// Writes one body into its region of an extent: hashes it in the same pass, gathers chunks into few large writes, and
// has at most one write in flight.
import { crc32 } from 'node:zlib'
import { TornWrite } from './error.ts'
import type { Hasher } from './extent.ts'

export type Region = {
  readonly offset: number
  readonly lengthBytes: number
  /** Called in order, for consecutive positions. */
  write(chunks: readonly Uint8Array[], position: number): Promise<void>
  /** Called after the last `write`. */
  finish?(): Promise<void>
}

const GATHER_BYTES = 512 * 1_024
const GATHER_COUNT = 1_024

/** Writes the whole source and returns its CRC-32. The bytes are not durable yet. */
export async function writeRegion(
  region: Region,
  source: AsyncIterable<Uint8Array>,
  hashers: readonly Hasher[],
  used: (chunk: Uint8Array) => void = () => undefined,
): Promise<number> {
  const gathered = new Gathered(region, used)
  let crc = 0
  try {
    for await (const chunk of sized(source, region.lengthBytes)) {
      crc = crc32(chunk, crc)
      const waits = hashers.map((hasher) => hasher.update(chunk))
      if (gathered.add(chunk)) await gathered.flush()
      for (const wait of waits) if (wait !== undefined) await wait
    }
    await gathered.finish()
    return crc
  } finally {
    // On failure too: the caller closes the descriptor next.
    await gathered.settled()
  }
}

/** Checks that the source has exactly `lengthBytes`. */
export async function* sized(
  source: AsyncIterable<Uint8Array>,
  lengthBytes: number,
): AsyncGenerator<Uint8Array> {
  let receivedBytes = 0
  for await (const chunk of source) {
    receivedBytes += chunk.length
    if (receivedBytes > lengthBytes) throw new TornWrite(lengthBytes, receivedBytes)
    if (chunk.length > 0) yield chunk
  }
  if (receivedBytes < lengthBytes) throw new TornWrite(lengthBytes, receivedBytes)
}

/** Gathers the chunks of one body into large writes. */
class Gathered {
  readonly #region: Region
  readonly #used: (chunk: Uint8Array) => void
  #position: number
  #chunks: Uint8Array[] = []
  #lengthBytes = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(region: Region, used: (chunk: Uint8Array) => void) {
    this.#region = region
    this.#used = used
    this.#position = region.offset
  }

  /** Returns whether to flush. */
  add(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk)
    this.#lengthBytes += chunk.length
    return this.#lengthBytes >= GATHER_BYTES || this.#chunks.length >= GATHER_COUNT
  }

  /** Waits for the previous write and starts the next. */
  async flush(): Promise<void> {
    await this.#writing
    if (this.#chunks.length === 0) return
    this.#writing = this.#write(this.#chunks, this.#position)
    // The next `flush` or `finish` reports the failure.
    this.#writing.catch(() => undefined)
    this.#position += this.#lengthBytes
    this.#chunks = []
    this.#lengthBytes = 0
  }

  async #write(chunks: readonly Uint8Array[], position: number): Promise<void> {
    await this.#region.write(chunks, position)
    for (const chunk of chunks) this.#used(chunk)
  }

  async finish(): Promise<void> {
    await this.flush()
    await this.#writing
    await this.#region.finish?.()
  }

  /** Waits for the write in flight; `flush` and `finish` report its failure. */
  async settled(): Promise<void> {
    await this.#writing.catch(() => undefined)
  }
}
