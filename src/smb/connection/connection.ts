// A TCP connection of an SMB client: frames in, responses out. Requests run concurrently. The memory of a connection is
// bounded: the server stops reading from a client that does not read its responses.
import type { Socket } from 'node:net'
import { freeBuffer } from '../../memory/free-buffer.ts'
import { TLS_CONNECTION_BYTES } from '../../memory/unauthenticated-memory.ts'
import type { RelayedClient } from '../../node/relayed-client.ts'
import { encodeAnswers, encodePlainHeader, framesOf, type Answered, type Part } from './answer.ts'
import type { Connection, Login, Negotiated, Session, SmbWorld } from '../world.ts'
import { runChain } from './chain.ts'
import { isCancelGenuine } from '../command/cancel.ts'
import { answerSmb1Negotiate } from '../command/negotiate.ts'
import { createCreditWindow } from './credit.ts'
import { BufferPool } from '../../memory/buffer-pool.ts'
import { PREAUTH_HASH_START } from '../session/key.ts'
import { CREDIT_BYTES, TRANSFER_BYTES_MAX } from '../limits.ts'
import { createRunningRequests } from './running.ts'
import { endSessionOn } from '../session/session.ts'
import type { Signer } from '../session/sign.ts'
import { DropConnection } from '../smb-error.ts'
import { decodeTransform, TransformError } from '../session/transform.ts'
import { WireError } from '../wire/error.ts'
import { encodeFramePrefix, frameReader } from '../wire/frame.ts'
import {
  COMMAND,
  decodeHeader,
  protocolOf,
  splitCompound,
  type MessagePieces,
} from '../wire/header.ts'
import { UNSOLICITED_MESSAGE_ID } from '../wire/file/oplock-break.ts'

const FRAME_BYTES_MAX = TRANSFER_BYTES_MAX + 64 * 1024
/** Before a login: enough for a security token with a long Kerberos ticket. */
const LOGIN_FRAME_BYTES_MAX = 64 * 1024
const LOGIN_UNREAD_BYTES_MAX = 64 * 1024
/** The memory of a login in progress: at most its token. */
const LOGIN_BYTES = 8 * 1024
/** The memory of an idle connection without TLS, and what the kernel holds for it. */
const CONNECTION_BYTES = 12 * 1024

/** Requests in progress and their responses. */
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024
/** Frames of compounds that wait for a lock or for another client's cache. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024
/** Responses that the client has not read yet. */
const UNREAD_BYTES_MAX = 16 * 1024 * 1024

/** Messages of a compound: far more than clients send. Its headers are checked, and its responses signed, in one turn. */
const COMPOUND_COUNT_MAX = 1_024

/** Frames that start in one turn of the event loop. A client with enough credits may send thousands at once. */
const FRAMES_PER_TURN = 128

const COPIED_BYTES_MAX = 16 * 1024
const NO_BYTES = Buffer.alloc(0)

/** Shared by all connections. */
const FRAMES = new BufferPool(32 * 1024 * 1024)

/** A connection that has no session, or reads nothing, is closed when two checks in a row find it so. */
const IDLE_CHECK_MS = 30_000
/** The kernel finds half-open connections. */
const KEEP_ALIVE_MS = 60_000

/** `client`: another node accepted the connection. */
export function serveConnection(
  socket: Socket,
  world: SmbWorld,
  client: RelayedClient | undefined,
): void {
  const connection = new SmbConnection(socket, world, client)
  connection.start()
}

class SmbConnection implements Connection {
  readonly clientIp: string
  readonly clientPort: number
  readonly serverIp: string
  negotiated: Negotiated | undefined
  preauthHash: Buffer = PREAUTH_HASH_START
  readonly logins = new Map<bigint, Login>()
  readonly sessions = new Map<bigint, Session>()
  readonly endedSessions = new Map<bigint, Signer>()
  isClosed = false
  delayedCount = 0

  readonly #socket: Socket
  readonly #world: SmbWorld
  /** The memory of the connection itself. With it, strangers who say nothing can't take all connections of the listener. */
  readonly #idleBytes: number
  readonly #credits = createCreditWindow()
  readonly #running = createRunningRequests()
  /** Received frames that have not started to run. */
  readonly #frames: Buffer[] = []
  /** In this turn. */
  #startedCount = 0
  #inFlightBytes = 0
  #waitingBytes = 0
  #hasLoggedIn = false
  #heldByReader = (): number => 0
  readonly #cancelDelays = new Set<() => void>()
  #cancelIdleCheck = (): void => {}
  /** As of the last idle check. */
  #wasIdle = false
  #sentBytes = 0

  constructor(socket: Socket, world: SmbWorld, client: RelayedClient | undefined) {
    this.#socket = socket
    this.#world = world
    const { remoteAddress, remotePort, localAddress } = client ?? socket
    this.clientIp = (remoteAddress ?? '').replace(/^::ffff:/, '')
    this.clientPort = remotePort ?? 0
    this.serverIp = (localAddress ?? '').replace(/^::ffff:/, '')
    // Connections between nodes use TLS.
    this.#idleBytes = client === undefined ? CONNECTION_BYTES : TLS_CONNECTION_BYTES
  }

  start(): void {
    const socket = this.#socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    const frameBytesMax = (): number =>
      this.#isLoggedIn() ? FRAME_BYTES_MAX : LOGIN_FRAME_BYTES_MAX
    const reader = frameReader(frameBytesMax, (lengthBytes) => FRAMES.take(lengthBytes))
    this.#heldByReader = () => reader.heldBytes()
    this.#world.connections.add(this)
    this.#scheduleIdleCheck()
    this.#reportMemory()
    socket.on('data', (chunk: Buffer) => {
      try {
        const messages = reader.push(chunk)
        this.#frames.push(...messages)
        if (messages.every(({ buffer }) => buffer !== chunk.buffer)) freeBuffer(chunk)
      } catch (error) {
        return this.#fail(error)
      }
      this.#flow()
    })
    socket.on('drain', () => this.#flow())
    socket.on('error', () => this.drop())
    socket.on('close', () => this.#close())
    if (socket.destroyed) this.#close()
  }

  drop(): void {
    this.#socket.destroy()
  }

  notify(session: Session | undefined, command: number, body: Buffer): void {
    this.#send([[encodePlainHeader(command, UNSOLICITED_MESSAGE_ID, 0), body]], session)
  }

  #scheduleIdleCheck(): void {
    this.#cancelIdleCheck = this.#world.afterRealTime(IDLE_CHECK_MS, () => {
      const { writableLength, bytesWritten } = this.#socket
      const isIdle =
        this.sessions.size === 0 || (writableLength > 0 && bytesWritten === this.#sentBytes)
      if (isIdle && this.#wasIdle) return this.drop()
      this.#wasIdle = isIdle
      this.#sentBytes = bytesWritten
      this.#scheduleIdleCheck()
    })
  }

  /** Starts the received frames that the limits allow, and pauses the socket while some have to wait. */
  #flow(): void {
    try {
      while (!this.#isFull() && !this.#socket.destroyed) {
        if (this.#startedCount >= FRAMES_PER_TURN) break
        const frame = this.#frames.shift()
        if (frame === undefined) break
        if (this.#startedCount === 0) setImmediate(() => this.#nextTurn())
        this.#startedCount += 1
        this.#receive(frame)
      }
    } catch (error) {
      return this.#fail(error)
    }
    if (this.#frames.length > 0) this.#socket.pause()
    else this.#socket.resume()
    this.#reportMemory()
  }

  #nextTurn(): void {
    this.#startedCount = 0
    if (this.#frames.length > 0) this.#flow()
  }

  /** Stays true after the last session has ended. */
  #isLoggedIn(): boolean {
    this.#hasLoggedIn ||= this.sessions.size > 0
    return this.#hasLoggedIn
  }

  /** Before a login, requests run one at a time. */
  #isFull(): boolean {
    const { writableLength } = this.#socket
    if (!this.#isLoggedIn()) {
      const isBusy = this.#inFlightBytes > 0 || this.delayedCount > 0
      return isBusy || writableLength >= LOGIN_UNREAD_BYTES_MAX
    }
    return this.#inFlightBytes >= IN_FLIGHT_BYTES_MAX || writableLength >= UNREAD_BYTES_MAX
  }

  /** The memory of connections without a login is bounded, for each and for all of them together. */
  #reportMemory(): void {
    const { unauthenticated } = this.#world
    if (this.isClosed || this.#isLoggedIn()) unauthenticated.release(this)
    else unauthenticated.hold(this, this.#heldBytes())
  }

  #heldBytes(): number {
    const waiting = this.#frames.reduce((sum, { length }) => sum + length, 0)
    const logins = this.logins.size * LOGIN_BYTES
    const { writableLength } = this.#socket
    return this.#idleBytes + this.#heldByReader() + waiting + logins + writableLength
  }

  #receive(frame: Buffer): void {
    const protocol = protocolOf(frame)
    if (protocol === 'smb2') return this.#begin(frame, undefined)
    if (protocol === 'transform') {
      const header = decodeTransform(frame)
      // If the session has no channel on this connection, dispatch.ts answers with an encrypted error.
      const session = this.#world.sessions.get(header.sessionId)
      const decryptor = session?.decryptor
      if (decryptor === undefined) throw new DropConnection('encrypted by an unknown session')
      return this.#begin(decryptor.decrypt(header), session)
    }
    if (protocol === 'smb1' && this.negotiated === undefined) {
      const body = answerSmb1Negotiate(this, this.#world, frame)
      const granted = this.#useCredits(0n, 1, 1)
      return this.#send([[encodePlainHeader(COMMAND.NEGOTIATE, 0n, granted), body]], undefined)
    }
    throw new DropConnection('not an SMB2 message')
  }

  #begin(frame: Buffer, sealedBy: Session | undefined): void {
    const messages = splitCompound(frame)
    if (messages.length > COMPOUND_COUNT_MAX)
      throw new DropConnection('a compound of too many messages')
    const parts: Part[] = []
    for (const message of messages) {
      const header = decodeHeader(message)
      if (header.command === COMMAND.CANCEL) {
        if (isCancelGenuine(this, header, message, sealedBy)) this.#running.cancel(header)
        continue
      }
      const credits = this.#useCredits(header.messageId, header.creditCharge, header.credits)
      parts.push({ message, header, credits })
    }
    if (parts.length > 0) this.#run(frame, parts, sealedBy)
  }

  #useCredits(messageId: bigint, charge: number, requested: number): number {
    if (!this.#credits.use(messageId, charge)) {
      throw new DropConnection('a message id outside the window')
    }
    return this.#credits.grant(requested)
  }

  #run(frame: Buffer, parts: readonly Part[], sealedBy: Session | undefined): void {
    const weightBytes = Math.max(frame.length, payableBytes(parts))
    let isWaiting = false
    this.#inFlightBytes += weightBytes
    const line = {
      world: this.#world,
      connection: this,
      running: this.#running,
      sealedBy,
      send: (answered: readonly Answered[]) => {
        for (const some of framesOf(answered)) {
          const delayMs = Math.max(...some.map(({ outgoing }) => outgoing.delayMs ?? 0))
          const messages = encodeAnswers(some, sealedBy)
          const sent = () => some.forEach(({ outgoing }) => outgoing.sent?.())
          if (delayMs === 0) this.#send(messages, sealedBy, sent)
          else this.#sendLater(delayMs, messages, sealedBy)
        }
      },
      hold: () => {
        if (isWaiting) return true
        if (this.#waitingBytes + frame.length > WAITING_BYTES_MAX) return false
        isWaiting = true
        this.#waitingBytes += frame.length
        // The wait may end only with the client's next message.
        this.#inFlightBytes -= weightBytes
        queueMicrotask(() => this.#flow())
        return true
      },
    }
    runChain(line, parts)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        // Nothing refers to the frame of a WRITE after it has ended.
        const isWrite = parts.length === 1 && parts[0]?.header.command === COMMAND.WRITE
        if (isWrite) FRAMES.giveBack(frame)
        if (isWaiting) this.#waitingBytes -= frame.length
        else this.#inFlightBytes -= weightBytes
        if (!this.isClosed) this.#flow()
      })
  }

  /** A separate method, so that the timer keeps only the response alive and not the request. */
  #sendLater(
    delayMs: number,
    messages: readonly MessagePieces[],
    sealedBy: Session | undefined,
  ): void {
    this.delayedCount += 1
    const cancel = this.#world.afterRealTime(delayMs, () => {
      this.#cancelDelays.delete(cancel)
      this.delayedCount -= 1
      this.#send(messages, sealedBy)
      this.#flow()
    })
    this.#cancelDelays.add(cancel)
  }

  #send(
    messages: readonly MessagePieces[],
    sealedBy: Session | undefined,
    sent: () => void = () => {},
  ): void {
    if (this.isClosed) return
    const plain = messages.flat()
    const sealed = sealedBy?.encryptor?.encrypt(plain)
    const pieces = sealed ?? plain
    const lengthBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const prefix = encodeFramePrefix(lengthBytes)
    // Copying a few bytes is faster than several writes.
    if (lengthBytes <= COPIED_BYTES_MAX) {
      this.#socket.write(Buffer.concat([prefix, ...pieces]), sent)
      return
    }
    this.#socket.cork()
    this.#socket.write(prefix)
    for (const piece of pieces.slice(0, -1)) this.#socket.write(piece)
    this.#socket.write(pieces.at(-1) ?? NO_BYTES, () => {
      sealed?.forEach(freeBuffer)
      sent()
    })
    this.#socket.uncork()
  }

  /** A protocol violation closes the connection. So does a bug, which is logged. */
  #fail(error: unknown): void {
    const isTheirs =
      error instanceof DropConnection ||
      error instanceof WireError ||
      error instanceof TransformError
    if (!isTheirs) this.#world.logFault(error)
    this.drop()
  }

  #close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#cancelIdleCheck()
    for (const cancel of this.#cancelDelays) cancel()
    this.#cancelDelays.clear()
    this.#world.connections.delete(this)
    this.#frames.length = 0
    this.#reportMemory()
    this.#running.cancelAll()
    for (const session of this.sessions.values()) {
      endSessionOn(this.#world, session, this).catch((error: unknown) =>
        this.#world.logFault(error),
      )
    }
    this.sessions.clear()
    this.logins.clear()
  }
}

/** The bytes that the client's credits pay for, which bound the responses. */
function payableBytes(parts: readonly Part[]): number {
  const credits = parts.reduce((sum, { header }) => sum + Math.max(header.creditCharge, 1), 0)
  return credits * CREDIT_BYTES
}
