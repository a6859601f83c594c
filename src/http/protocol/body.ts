// The body of a request, read whole (small bodies, XML) or streamed once. A client that waits for `100 Continue`
// gets it when an operation starts to read, so a request that fails early costs no upload.
import { StorageError } from '../../storage/shared/error.ts'

export type Body = {
  /** From Content-Length; undefined if the client sent none. */
  readonly lengthBytes: number | undefined
  /** The whole body, or 413 if it is longer than `bytesMax`. */
  read(bytesMax: number): Promise<Buffer>
  stream(): AsyncIterable<Uint8Array>
}

/** The client disconnected or was too slow. There is nobody to answer. */
export class ClientGone extends Error {}

export function tooLarge(bytesMax: number): StorageError {
  return new StorageError('RequestBodyTooLarge', { MaxLimit: String(bytesMax) })
}

/** Where the bytes of a body come from. */
export type BodySource = {
  /** A reader has started. */
  wanted(): void
  /** There is room for more. */
  resume(): void
}

// Enough to have the next bytes ready while a thread hashes these.
const HELD_BYTES_MAX = 256 * 1024
/** The overhead of a chunk: a client may send byte by byte. */
const CHUNK_BYTES = 512

/** Filled by a connection and read by an operation. */
export class IncomingBody implements Body {
  readonly lengthBytes: number | undefined
  readonly #source: BodySource
  #chunks: Buffer[] = []
  #heldBytes = 0
  #state: 'receiving' | 'complete' | 'aborted' = 'receiving'
  /** Nobody will read it: the rest is dropped on arrival. */
  #discarded = false
  #wake: (() => void) | undefined

  constructor(lengthBytes: number | undefined, source: BodySource) {
    this.lengthBytes = lengthBytes
    this.#source = source
  }

  /** Received but not read yet. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Adds the next bytes; false if the buffer is full. */
  push(chunk: Buffer): boolean {
    if (this.#discarded) return true
    this.#chunks.push(chunk)
    this.#heldBytes += chunk.length + CHUNK_BYTES
    this.#wake?.()
    return this.#heldBytes < HELD_BYTES_MAX
  }

  end(): void {
    this.#state = 'complete'
    this.#wake?.()
  }

  /** The rest will never arrive. */
  fail(): void {
    this.#state = 'aborted'
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
    return this.#state === 'complete' ? Promise.resolve(joined(this.#takeAll())) : this.#readWhole()
  }

  async #readWhole(): Promise<Buffer> {
    const chunks: Buffer[] = []
    this.#source.wanted()
    while (this.#state === 'receiving') {
      await this.#change()
      chunks.push(...this.#takeAll())
    }
    this.#checkComplete()
    return joined([...chunks, ...this.#takeAll()])
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    this.#source.wanted()
    try {
      for (;;) {
        const chunks = this.#takeAll()
        if (chunks.length > 0) yield* chunks
        else if (this.#state === 'receiving') await this.#change()
        else break
      }
      this.#checkComplete()
    } finally {
      // A reader that stops early must not block the next request on the connection.
      if (this.#state === 'receiving') this.discard()
    }
  }

  /** Incomplete, too: a body that was discarded because the answer was sent before it arrived. */
  #checkComplete(): void {
    if (this.#state === 'aborted' || this.#discarded) throw new ClientGone()
  }

  #takeAll(): readonly Buffer[] {
    const chunks = this.#chunks
    if (chunks.length === 0) return chunks
    this.#chunks = []
    this.#heldBytes = 0
    if (this.#state === 'receiving') this.#source.resume()
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
