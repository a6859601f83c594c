// A client that sends any bytes and parses responses strictly: a malformed head or body is an error. It understands
// chunked bodies and interim responses.
import { connect, type Socket } from 'node:net'
import { wireRequest, type RawRequest } from './harness.ts'

export type Answer = {
  readonly status: number
  /** With lower-case names; the values of repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The longest that a test waits: a hang must fail. */
const WAIT_MS_MAX = 60_000

export class HostileClient {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => undefined

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    // A reset also ends the connection; 'close' follows it.
    this.#socket.on('error', () => undefined)
    this.#socket.on('end', () => this.#end())
    this.#socket.on('close', () => this.#end())
  }

  get isEnded(): boolean {
    return this.#ended
  }

  send(bytes: string | Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  /** Ends the sending side; responses can still arrive. */
  finish(): void {
    this.#socket.end()
  }

  close(): void {
    this.#socket.destroy()
  }

  /** The next final response; undefined if the connection ends instead. */
  async answer(method: string): Promise<Answer | undefined> {
    for (;;) {
      const taken = takeAnswer(this.#received, method, this.#ended)
      if (taken !== undefined) {
        this.#received = taken.rest
        if (taken.answer.status >= 200) return taken.answer
      } else if (this.#ended) return undefined
      else await this.#change()
    }
  }

  #end(): void {
    this.#ended = true
    this.#wake()
  }

  #change(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error(`no response arrived:  ${this.#received.toString('latin1')}`))
      }, WAIT_MS_MAX)
      this.#wake = () => {
        clearTimeout(late)
        resolve()
      }
    })
  }
}

type Taken = { readonly answer: Answer; readonly rest: Buffer }

const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/

function takeAnswer(received: Buffer, method: string, isEnded: boolean): Taken | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) [ -~]*$/.exec(statusLine)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) throw new Error(`invalid status line:  ${statusLine}`)
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name = '', value = ''] = FIELD.exec(line) ?? []
    if (name === '') throw new Error(`invalid header:  ${JSON.stringify(line)}`)
    const lower = name.toLowerCase()
    headers[lower] = headers[lower] === undefined ? value : `${headers[lower]}, ${value}`
  }
  const taken = takeBody(received.subarray(headEnd + 4), status, headers, method, isEnded)
  return taken && { answer: { status, headers, body: taken.body }, rest: taken.rest }
}

type TakenBody = { readonly body: Buffer; readonly rest: Buffer }

const NOTHING = Buffer.alloc(0)

function takeBody(
  bytes: Buffer,
  status: number,
  headers: Readonly<Record<string, string>>,
  method: string,
  isEnded: boolean,
): TakenBody | undefined {
  const hasNone = method === 'HEAD' || status < 200 || status === 204 || status === 304
  if (hasNone) return { body: NOTHING, rest: bytes }
  if (headers['transfer-encoding'] === 'chunked') return takeChunks(bytes)
  const length = headers['content-length']
  if (length === undefined) return isEnded ? { body: bytes, rest: NOTHING } : undefined
  if (!/^\d+$/.test(length)) throw new Error(`invalid length:  ${length}`)
  if (bytes.length < Number(length)) return undefined
  return { body: bytes.subarray(0, Number(length)), rest: bytes.subarray(Number(length)) }
}

function takeChunks(bytes: Buffer): TakenBody | undefined {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error('invalid chunk')
    const from = lineEnd + 2
    if (bytes.length < from + size + 2) return undefined
    if (size === 0) return { body: Buffer.concat(chunks), rest: bytes.subarray(from + 2) }
    chunks.push(bytes.subarray(from, from + size))
    at = from + size + 2
  }
}

/** The signed request as bytes; a repeated header takes one line per value. */
export function bytesOf(request: RawRequest): Buffer {
  const length = String(Buffer.byteLength(request.body ?? ''))
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const own = isRead && length !== '0' ? { 'content-length': length } : {}
  const { path, headers } = wireRequest({ ...request, headers: { ...request.headers, ...own } })
  const fields = Object.entries({ host: '127.0.0.1', ...headers }).flatMap(([name, value]) => {
    const values = typeof value === 'string' ? [value] : value
    return values.map((one) => `${name}: ${one}\r\n`)
  })
  const head = `${request.method} ${path} HTTP/1.1\r\n${fields.join('')}\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(request.body ?? '')])
}
