// The body of a request: read whole (small ones, XML) or streamed once. Where the client waits for
// `100 Continue`, nothing is sent before an operation asks for it, so a request that fails early costs no
// upload.
import { StorageError } from '../../storage/shared/error.ts'

export type Body = {
  /** From Content-Length; undefined when the client sent none. */
  readonly lengthBytes: number | undefined
  /** All of it, or 413 when it is longer than `bytesMax`. */
  read(bytesMax: number): Promise<Buffer>
  stream(): AsyncIterable<Uint8Array>
}

/** The client went away, or was too slow. There is nobody to answer. */
export class ClientGone extends Error {}

export function tooLarge(bytesMax: number): StorageError {
  return new StorageError('RequestBodyTooLarge', { MaxLimit: String(bytesMax) })
}

/** What brings the bytes of a body. */
export type BodySource = {
  /** Somebody wants them. */
  wanted(): void
  /** There is room for more. */
  resume(): void
}

// Enough for a thread that hashes to have the next bytes at hand while it is given these.
const HELD_BYTES_MAX = 256 * 1024
/** What a chunk takes besides its bytes: a client may send them one by one. */
const CHUNK_BYTES = 512

/** Filled by a connection at one end and emptied by an operation at the other. */
export class IncomingBody implements Body {
  readonly lengthBytes: number | undefined
  readonly #source: BodySource
  #chunks: Buffer[] = []
  #heldBytes = 0
  #state: 'coming' | 'whole' | 'gone' = 'coming'
  /** Nobody will read it: the rest is let go as it comes. */
  #discarded = false
  #wake: (() => void) | undefined

  constructor(lengthBytes: number | undefined, source: BodySource) {
    this.lengthBytes = lengthBytes
    this.#source = source
  }

  /** What is here and was not read. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Takes the next bytes; false when they are enough for now. */
  push(chunk: Buffer): boolean {
    if (this.#discarded) return true
    this.#chunks.push(chunk)
    this.#heldBytes += chunk.length + CHUNK_BYTES
    this.#wake?.()
    return this.#heldBytes < HELD_BYTES_MAX
  }

  end(): void {
    this.#state = 'whole'
    this.#wake?.()
  }

  /** The rest will never come. */
  fail(): void {
    this.#state = 'gone'
    this.#wake?.()
  }

  discard(): void {
    this.#discarded = true
    this.#chunks = []
    this.#heldBytes = 0
    this.#source.resume()
  }

  read(bytesMax: number): Promise<Buffer> {
    if ((this.lengthBytes ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax))
    return this.#state === 'whole' ? Promise.resolve(joined(this.#takeAll())) : this.#readWhole()
  }

  async #readWhole(): Promise<Buffer> {
    const chunks: Buffer[] = []
    this.#source.wanted()
    while (this.#state === 'coming') {
      await this.#change()
      chunks.push(...this.#takeAll())
    }
    this.#checkWhole()
    return joined([...chunks, ...this.#takeAll()])
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    this.#source.wanted()
    try {
      for (;;) {
        const chunks = this.#takeAll()
        if (chunks.length > 0) yield* chunks
        else if (this.#state === 'coming') await this.#change()
        else break
      }
      this.#checkWhole()
    } finally {
      // A reader that stops early must not keep the next request of the connection waiting.
      if (this.#state === 'coming') this.discard()
    }
  }

  /** Also not whole: what was answered before it had come, and so let go from under its reader. */
  #checkWhole(): void {
    if (this.#state === 'gone' || this.#discarded) throw new ClientGone()
  }

  #takeAll(): readonly Buffer[] {
    const chunks = this.#chunks
    if (chunks.length === 0) return chunks
    this.#chunks = []
    this.#heldBytes = 0
    if (this.#state === 'coming') this.#source.resume()
    return chunks
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
