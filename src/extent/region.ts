// One body into its region of an extent: hashed as it comes, gathered so that the disk sees few large
// writes, and never more than one of them ahead of the source.
import { crc32 } from 'node:zlib'
import { TornWrite } from './error.ts'
import type { Hasher } from './extent.ts'

export type Region = {
  readonly offset: number
  readonly lengthBytes: number
  /** Called one after the other, each where the one before has ended. */
  write(chunks: readonly Uint8Array[], position: number): Promise<void>
  /** All of it was given to `write`. */
  finish?(): Promise<void>
}

const GATHER_BYTES = 512 * 1_024
const GATHER_COUNT = 1_024

/** Writes the whole source and returns its CRC-32. It is in the file, not yet durable. */
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
    // Also on failure: the descriptor is closed after this.
    await gathered.settled()
  }
}

/** Passes a source on that has exactly `lengthBytes`; anything else is torn. */
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

/** Chunks on their way to the disk, for as long as one body is written. */
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

  /** True when it is time to flush. */
  add(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk)
    this.#lengthBytes += chunk.length
    return this.#lengthBytes >= GATHER_BYTES || this.#chunks.length >= GATHER_COUNT
  }

  /** Waits for the write before, and starts the next. */
  async flush(): Promise<void> {
    await this.#writing
    if (this.#chunks.length === 0) return
    this.#writing = this.#write(this.#chunks, this.#position)
    // Whoever waits for it next gets the failure.
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

  /** Nothing is under way any more; a failure is reported by `flush` and `finish`. */
  async settled(): Promise<void> {
    await this.#writing.catch(() => undefined)
  }
}
