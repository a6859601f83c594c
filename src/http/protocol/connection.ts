// One HTTP connection: parses heads, feeds bodies to their readers and writes answers, one request at a time.
// Built on node:net because node:http takes as long for a small request as all of our own work
// (docs/decisions/0008-speed.md). Its memory is bounded, and a client that is slow, silent or sends malformed
// bytes is cut off.
import type { Socket } from 'node:net'
import {
  TLS_CONNECTION_BYTES,
  type MemoryHolder,
  type UnauthenticatedMemory,
} from '../../memory/unauthenticated-memory.ts'
import type { RelayedClient } from '../../node/relayed-client.ts'
import { IncomingBody, type BodySource } from './body.ts'
import type { RequestHandler } from './exchange.ts'
import { HeldBytes } from './held-bytes.ts'
import { HttpExchange, type ExchangeLine } from './http-exchange.ts'
import { parseRequestHead, Refusal, type RefusalStatus, type RequestHead } from './request-head.ts'
import {
  CLOSE,
  CONTINUE,
  keepAliveEnding,
  reasonOf,
  responseHead,
  type HeaderLists,
} from './response-head.ts'

export type ConnectionLimits = {
  /** How long an idle connection stays open for the next request. */
  readonly keepAliveMs: number
  /** How long the header of a request may take. */
  readonly headersMs: number
  /** How long a connection may be silent in the middle of a request or an answer. */
  readonly silenceMs: number
  readonly headerBytesMax: number
}

/** State shared by the connections of a port. */
export type Port = {
  readonly handler: RequestHandler
  readonly limits: ConnectionLimits
  readonly secure: boolean
  readonly unauthenticated: UnauthenticatedMemory
  /** Only this machine can reach it. */
  readonly onLoopback: boolean
  /** No more requests are started. */
  readonly closing: boolean
}

const HEAD_END_BYTES = 4
const CR = 0x0d
const LF = 0x0a
/** The limit on bytes buffered beyond the current request; the rest stays in the kernel. */
const HELD_BYTES_MAX = 64 * 1024
/** The memory of an idle connection without TLS (measured: 5 KiB). */
const CONNECTION_BYTES = 8 * 1024
/** A body up to this length is copied behind its head, which is cheaper than a second write. */
const COPIED_BYTES_MAX = 64 * 1024
/** Some clients send an empty line after a body. */
const EMPTY_BYTES_MAX = 1_024
/** How long a client that is still sending may take to read the answer. */
const LINGER_MS = 2_000
// The service allows 10 minutes for each MiB written ("Setting timeouts for Blob service operations"). A slower
// body is aborted, so a client that trickles can't hold a connection forever.
const BODY_MS_PER_MIB = 600_000
const MIB = 1 << 20

let connectionCount = 0

export class HttpConnection implements BodySource, MemoryHolder, ExchangeLine {
  readonly #socket: Socket
  readonly #port: Port
  readonly #keepAlive: string
  readonly number = ++connectionCount
  readonly remoteAddress: string
  readonly secure: boolean
  readonly onLoopback: boolean
  /** The memory of the connection itself. */
  readonly #idleBytes: number
  /** The current request. */
  #exchange: HttpExchange | undefined
  /** The body being received; outlives an exchange that did not read it. */
  #body: IncomingBody | undefined
  #bodyBytesLeft = 0
  #bodyUntilMs = Number.POSITIVE_INFINITY
  #waitsForContinue = false
  readonly #held = new HeldBytes()
  /** Its memory is counted: nobody has authenticated on it, and the current request is not admitted yet. */
  #isCounted = true
  #hasAuthenticated = false
  #paused = false
  /** The connection closes after the current answer. */
  #last = false
  #ending = false
  #peerEnded = false
  /** Part of a head has arrived, or the first one is awaited. */
  #inHead = true
  #sinceMs = performance.now()
  #drained: (() => void) | undefined
  #onGone: (() => void) | undefined
  /** Of the empty lines since the last request. */
  #emptyBytes = 0
  /** The head of a streamed answer, sent together with its first chunk. */
  #begun: string | undefined
  #pending: { readonly head: string; readonly bytes: Uint8Array | undefined } | undefined

  /** `client`: another node accepted the connection. */
  constructor(socket: Socket, port: Port, client?: RelayedClient) {
    this.#socket = socket
    this.#port = port
    this.#keepAlive = keepAliveEnding(port.limits.keepAliveMs)
    this.remoteAddress = client?.remoteAddress ?? socket.remoteAddress ?? ''
    this.secure = client?.secure ?? port.secure
    this.onLoopback = client?.onLoopback ?? port.onLoopback
    // Connections between nodes use TLS.
    const hasTls = port.secure || client !== undefined
    this.#idleBytes = hasTls ? TLS_CONNECTION_BYTES : CONNECTION_BYTES
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('end', () => this.#peerEnd())
    socket.on('close', () => this.#closed())
    socket.on('drain', () => this.#onDrain())
    // 'close' always follows and does the cleanup.
    socket.on('error', () => undefined)
    socket.setTimeout(port.limits.silenceMs, () => socket.destroy())
    this.#count()
  }

  get gone(): boolean {
    return this.#socket.destroyed
  }

  get hasLeft(): boolean {
    return this.gone || this.#peerEnded
  }

  drop(): void {
    this.#socket.destroy()
  }

  /** The server closes: finishes the current request, if any, and starts no other. */
  close(): void {
    if (this.#exchange === undefined) this.drop()
  }

  /** Called periodically: cuts off a client that takes too long. */
  checkTimes(nowMs: number): void {
    const { keepAliveMs, headersMs } = this.#port.limits
    const spentMs = nowMs - this.#sinceMs
    if (this.#ending) {
      if (spentMs > LINGER_MS) this.drop()
    } else if (this.#bodyBytesLeft > 0) {
      if (nowMs > this.#bodyUntilMs) this.drop()
    } else if (this.#exchange === undefined) {
      if (this.#inHead && spentMs > headersMs) this.#refuse(408)
      else if (!this.#inHead && spentMs > keepAliveMs) this.drop()
    }
  }

  wanted(): void {
    if (!this.#waitsForContinue) return
    this.#waitsForContinue = false
    this.#socket.write(CONTINUE, 'latin1')
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#socket.resume()
  }

  #pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  #take(bytes: Buffer): void {
    if (this.#ending) return
    const rest = this.#bodyBytesLeft > 0 ? this.#takeBody(bytes) : bytes
    if (rest.length > 0) {
      this.#held.add(rest)
      if (this.#exchange === undefined) this.#next()
      if (this.#held.length > HELD_BYTES_MAX && !this.#awaitsHead()) this.#pause()
    }
    if (this.#isCounted) this.#count()
  }

  /** Ready for the next request: none is running, and the client has read its previous answers. */
  #awaitsHead(): boolean {
    return this.#exchange === undefined && !this.#socket.writableNeedDrain
  }

  /** Reports the memory of this connection, which may be dropped for it. */
  #count(): void {
    if (this.gone) return
    const { memoryBytes } = this.#held
    const unsentBytes = this.#socket.writableLength
    const bytes = this.#idleBytes + memoryBytes + unsentBytes + (this.#body?.heldBytes ?? 0)
    this.#port.unauthenticated.hold(this, bytes)
  }

  /** The current request is authorized. Counting stops for good if its client has authenticated, else until its end. */
  admit(hasAuthenticated: boolean): void {
    this.#hasAuthenticated ||= hasAuthenticated
    if (!this.#isCounted) return
    this.#isCounted = false
    this.#port.unauthenticated.release(this)
  }

  /** Feeds the body and returns the bytes after it. */
  #takeBody(bytes: Buffer): Buffer {
    const length = Math.min(bytes.length, this.#bodyBytesLeft)
    this.#bodyBytesLeft -= length
    const more = this.#body?.push(length === bytes.length ? bytes : bytes.subarray(0, length))
    if (this.#bodyBytesLeft === 0) this.#body?.end()
    else if (more === false) this.#pause()
    return bytes.subarray(length)
  }

  /** Starts the next request if its head is complete. */
  #next(): void {
    if (this.#ending || !this.#awaitsHead()) return
    const { bytes } = this.#held
    const from = skipLineEnds(bytes)
    if (from > 0 && this.#isTooEmpty(from, bytes.length)) return this.#refuse(400)
    if (from === bytes.length) {
      this.#held.clear()
      if (this.#peerEnded) this.#end()
      return
    }
    const to = this.#held.headEnd(from)
    const headBytes = (to < 0 ? bytes.length : to) - from
    if (headBytes > this.#port.limits.headerBytesMax) return this.#refuse(431)
    if (to < 0) return this.#awaitHead()
    try {
      const head = parseRequestHead(bytes.toString('latin1', from, to + 2))
      this.#held.consume(to + HEAD_END_BYTES)
      this.#begin(head)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.#refuse(error.status)
    }
  }

  /** "A server SHOULD ignore at least one empty line" before a request (RFC 9112, 2.2), but not any number of them. */
  #isTooEmpty(emptyBytes: number, lengthBytes: number): boolean {
    // The others are still held, and are counted again.
    const total = this.#emptyBytes + emptyBytes
    this.#emptyBytes = emptyBytes === lengthBytes ? total : this.#emptyBytes
    return total > EMPTY_BYTES_MAX
  }

  #awaitHead(): void {
    if (this.#peerEnded) return this.#refuse(400)
    if (this.#inHead) return
    this.#inHead = true
    this.#sinceMs = performance.now()
  }

  #begin(head: RequestHead): void {
    const { lengthBytes = 0, chunked } = head
    this.#inHead = false
    this.#emptyBytes = 0
    this.#last = !head.keepAlive || chunked
    this.#body = new IncomingBody(head.lengthBytes, this)
    this.#bodyBytesLeft = chunked ? Number.POSITIVE_INFINITY : lengthBytes
    this.#waitsForContinue = head.expectsContinue && lengthBytes > 0
    if (chunked) this.#body.discard()
    if (this.#bodyBytesLeft === 0) this.#body.end()
    else this.#beginBody(lengthBytes)
    const exchange = new HttpExchange(this, this.#port, head, this.#body)
    this.#exchange = exchange
    this.#port.handler.handle(exchange).catch((error: unknown) => {
      this.#port.handler.logFault(error, '-')
      this.drop()
    })
  }

  #beginBody(lengthBytes: number): void {
    const allowedMs = BODY_MS_PER_MIB * Math.max(1, Math.ceil(lengthBytes / MIB))
    this.#bodyUntilMs = performance.now() + allowedMs
    const { length, bytes } = this.#held
    if (length > 0) this.#held.consume(length - this.#takeBody(bytes).length)
    // The client finished sending while an earlier request was running.
    if (this.#peerEnded && this.#bodyBytesLeft > 0) this.#body?.fail()
  }

  whenGone(listener: () => void): void {
    if (this.gone) listener()
    else this.#onGone = listener
  }

  makeLast(): void {
    this.#last = true
  }

  begin(status: number, lists: HeaderLists, isLast: boolean): void {
    if (isLast) this.#last = true
    this.#begun = this.#headOf(status, lists)
  }

  write(bytes: Uint8Array, done: (() => void) | undefined): boolean {
    if (this.#begun === undefined) return this.#socket.write(bytes, done)
    this.#socket.cork()
    this.#writeBegun()
    const hasRoom = this.#socket.write(bytes, done)
    this.#socket.uncork()
    return hasRoom
  }

  end(): void {
    this.#writeBegun()
    this.#finish()
  }

  #writeBegun(): void {
    if (this.#begun !== undefined) this.#socket.write(this.#begun, 'latin1')
    this.#begun = undefined
  }

  drained(): Promise<void> {
    if (this.gone || !this.#socket.writableNeedDrain) return Promise.resolve()
    return new Promise((resolve) => {
      this.#drained = resolve
    })
  }

  /** Queues the answer, to be written with the others of this turn (`writeAnswers`). */
  answer(status: number, lists: HeaderLists, bytes: Uint8Array | undefined): void {
    this.#pending = { head: this.#headOf(status, lists), bytes }
    if (answering.push(this) === 1) setImmediate(writeAnswers)
  }

  writePending(): void {
    const pending = this.#pending
    this.#pending = undefined
    if (pending === undefined || this.gone) return
    const { head, bytes } = pending
    if (bytes === undefined) this.#socket.write(head, 'latin1')
    else if (bytes.length <= COPIED_BYTES_MAX) this.#socket.write(withHead(head, bytes))
    else {
      this.#socket.cork()
      this.#socket.write(head, 'latin1')
      this.#socket.write(bytes)
      this.#socket.uncork()
    }
    this.#finish()
  }

  #headOf(status: number, lists: HeaderLists): string {
    // A client that waits for `100 Continue` may or may not send its body after this answer.
    if (this.#port.closing || this.#waitsForContinue) this.#last = true
    return responseHead(status, lists, this.#last ? CLOSE : this.#keepAlive, Date.now())
  }

  /** The answer is written. */
  #finish(): void {
    if (this.gone) return
    this.#exchange = undefined
    this.#isCounted = !this.#hasAuthenticated
    this.#onGone = undefined
    this.#sinceMs = performance.now()
    if (this.#last || this.#port.closing) return this.#end()
    if (this.#bodyBytesLeft > 0) this.#body?.discard()
    // A body that nobody read would stay in memory until the next request.
    else this.#body = undefined
    this.resume()
    this.#next()
    if (this.#isCounted) this.#count()
  }

  #refuse(status: RefusalStatus): void {
    this.#socket.write(
      `HTTP/1.1 ${status} ${reasonOf(status)}\r\n${CLOSE}Content-Length: 0\r\n\r\n`,
      'latin1',
    )
    this.#end()
  }

  #end(): void {
    this.#ending = true
    this.#sinceMs = performance.now()
    const unread = this.#held.length > 0 || this.#bodyBytesLeft > 0
    this.#held.clear()
    if (!unread || this.#peerEnded) return this.#socket.destroySoon()
    // Closing while the client is sending would reset the connection and lose the answer.
    this.#body?.discard()
    this.#socket.end()
    this.resume()
  }

  /** The client has finished sending, but may still read. */
  #peerEnd(): void {
    this.#peerEnded = true
    this.#exchange?.leave()
    if (this.#bodyBytesLeft > 0) this.#body?.fail()
    if (this.#exchange === undefined && !this.#ending) {
      if (this.#bodyBytesLeft > 0) this.#end()
      else this.#next()
    }
  }

  #onDrain(): void {
    this.#drained?.()
    this.#drained = undefined
    if (this.#exchange === undefined) {
      this.resume()
      this.#next()
    }
    if (this.#isCounted) this.#count()
  }

  #closed(): void {
    this.#port.unauthenticated.release(this)
    if (this.#bodyBytesLeft > 0) this.#body?.fail()
    this.#drained?.()
    this.#onGone?.()
    this.#onGone = undefined
    this.#exchange?.leave()
  }
}

/** Empty lines before a request are skipped (RFC 9112, 2.2). */
function skipLineEnds(bytes: Buffer): number {
  let at = 0
  while (bytes[at] === CR && bytes[at + 1] === LF) at += 2
  return at
}

function withHead(head: string, bytes: Uint8Array): Buffer {
  const whole = Buffer.allocUnsafe(head.length + bytes.length)
  whole.write(head, 'latin1')
  whole.set(bytes, head.length)
  return whole
}

// Answers of one turn of the event loop are written together. Written one by one, each would wake a client that
// has gone to sleep since the last, which costs more than all of our own work for a Get Blob (measured with 32
// connections: 95 µs a request against 60).
let answering: HttpConnection[] = []

function writeAnswers(): void {
  const connections = answering
  answering = []
  for (const connection of connections) connection.writePending()
}
