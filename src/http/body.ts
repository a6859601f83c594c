// The body of a request: read whole (small ones, XML) or streamed once. Nothing is read before an
// operation asks for it, so a request that fails early costs no upload where the client waits for
// `100 Continue`.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { StorageError } from '../storage/error.ts'

export type Body = {
  /** From Content-Length; undefined when the client sent none. */
  readonly lengthBytes: number | undefined
  /** All of it, or 413 when it is longer than `bytesMax`. */
  read(bytesMax: number): Promise<Buffer>
  stream(): AsyncIterable<Uint8Array>
}

/** The client went away, or was too slow. There is nobody to answer. */
export class ClientGone extends Error {}

// The service allows 10 minutes for each MiB written ("Setting timeouts for Blob service operations"); a body
// that comes slower is given up, so a client that trickles can't hold a connection for ever.
const BODY_MS_PER_MIB = 600_000
const MIB = 1 << 20

export function bodyOf(req: IncomingMessage, res: ServerResponse, waits: boolean): Body {
  return new IncomingBody(req, res, waits)
}

/** A class, because there is one for each request: its functions are made once. */
class IncomingBody implements Body {
  readonly lengthBytes: number | undefined
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  /** The client waits for `100 Continue` before it sends. */
  readonly #waits: boolean

  constructor(req: IncomingMessage, res: ServerResponse, waits: boolean) {
    this.lengthBytes = contentLength(req)
    this.#req = req
    this.#res = res
    this.#waits = waits
  }

  read(bytesMax: number): Promise<Buffer> {
    if ((this.lengthBytes ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax))
    this.#begin()
    return readWhole(this.#req, bytesMax)
  }

  stream(): AsyncIterable<Uint8Array> {
    this.#begin()
    return streamOnce(this.#req, this.lengthBytes ?? 0)
  }

  #begin(): void {
    if (this.#waits) this.#res.writeContinue()
  }
}

export function tooLarge(bytesMax: number): StorageError {
  return new StorageError('RequestBodyTooLarge', { MaxLimit: String(bytesMax) })
}

function contentLength(req: IncomingMessage): number | undefined {
  const text = req.headers['content-length']
  // Node has refused anything but digits, and a length beside chunked encoding.
  return text === undefined ? undefined : Number(text)
}

function readWhole(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let lengthBytes = 0
    const deadline = setTimeout(() => req.destroy(new ClientGone()), BODY_MS_PER_MIB)
    req.on('data', (chunk: Buffer) => {
      lengthBytes += chunk.length
      if (lengthBytes > bytesMax) reject(tooLarge(bytesMax))
      else chunks.push(chunk)
    })
    req.on('end', () => {
      clearTimeout(deadline)
      const [first] = chunks
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks))
    })
    req.on('close', () => {
      clearTimeout(deadline)
      if (!req.complete) reject(new ClientGone())
    })
  })
}

async function* streamOnce(req: IncomingMessage, lengthBytes: number): AsyncGenerator<Uint8Array> {
  const allowedMs = BODY_MS_PER_MIB * Math.max(1, Math.ceil(lengthBytes / MIB))
  const deadline = setTimeout(() => req.destroy(new ClientGone()), Math.min(allowedMs, 2 ** 31 - 1))
  try {
    // When the reader stops early the request must stay open: its answer is still to be written.
    yield* req.iterator({ destroyOnReturn: false })
    if (!req.complete) throw new ClientGone()
  } catch (error) {
    throw req.complete ? error : new ClientGone()
  } finally {
    clearTimeout(deadline)
    // Node lets go of a body that nobody has begun to read, not of the rest of one: unread, it would keep
    // the connection's next request waiting for ever.
    req.resume()
  }
}
