// A TCP client that sends bytes unchecked and unchanged, and reads responses one at a time, so that tests see their
// order, interim responses and the end of the connection.
import { connect, type Socket } from 'node:net'
import { wireRequest, type RawRequest } from './harness.ts'

export type BareAnswer = {
  readonly status: number
  /** With lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The longest that a test waits for a response or the end: a hang must fail. */
const WAIT_MS_MAX = 60_000

export class BareSocket {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    // A reset also ends the connection; 'close' follows it.
    socket.on('error', () => undefined)
    socket.on('end', () => this.#end())
    socket.on('close', () => this.#end())
  }

  static open(port: number): Promise<BareSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true }, () => {
        socket.off('error', reject)
        resolve(new BareSocket(socket))
      })
      socket.once('error', reject)
    })
  }

  send(bytes: string | Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  /** The next response, including interim ones (100); undefined if the connection ends instead. */
  async answer({ headOnly = false } = {}): Promise<BareAnswer | undefined> {
    for (;;) {
      const taken = takeAnswer(this.#received, headOnly)
      if (taken !== undefined) {
        this.#received = taken.rest
        return taken.answer
      }
      if (this.#ended) return undefined
      await this.#change('answer')
    }
  }

  /** Waits for the end of the connection; returns the bytes that `answer` has not read. */
  async rest(): Promise<string> {
    while (!this.#ended) await this.#change('end')
    return this.#received.toString('latin1')
  }

  /** The bytes received so far that `answer` has not read. */
  get waiting(): string {
    return this.#received.toString('latin1')
  }

  /** Ends the sending side; responses can still arrive. */
  finish(): void {
    this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
  }

  #end(): void {
    this.#ended = true
    this.#wake()
  }

  #change(what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no ${what} came`)), WAIT_MS_MAX)
      this.#wake = () => {
        clearTimeout(late)
        resolve()
      }
    })
  }
}

type Taken = { readonly answer: BareAnswer; readonly rest: Buffer }

function takeAnswer(received: Buffer, headOnly: boolean): Taken | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? Number.NaN)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  const bodyAt = headEnd + 4
  const hasBody = !headOnly && status >= 200 && status !== 204 && status !== 304
  const end = bodyAt + (hasBody ? Number(headers['content-length'] ?? 0) : 0)
  if (received.length < end) return undefined
  const answer = { status, headers, text: received.toString('utf8', bodyAt, end) }
  return { answer, rest: received.subarray(end) }
}

/** The head of a request, signed as by `rawRequest`. */
export function headBytes(
  request: RawRequest,
  more: Readonly<Record<string, string>> = {},
): string {
  const { path, headers } = wireRequest(request)
  const fields = Object.entries({ host: '127.0.0.1', ...headers, ...more })
  const lines = fields.map(([name, value]) => `${name}: ${String(value)}\r\n`)
  return `${request.method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Opens a connection, sends the bytes, returns the first response and closes the connection. */
export async function askBare(
  port: number,
  bytes: string | Uint8Array,
): Promise<BareAnswer | undefined> {
  const socket = await BareSocket.open(port)
  try {
    socket.send(bytes)
    return await socket.answer()
  } finally {
    socket.close()
  }
}
