// A TCP connection of an SMB client: frames in, answers out. Requests run side by side, as the client sent
// them. What one connection can make the server hold is bounded: a client that asks for more than it reads is not
// listened to until it has read.
import type { Socket } from 'node:net'
import { letGo } from '../../memory/let-go.ts'
import { encodeAnswers, encodePlainHeader, framesOf, type Answered, type Part } from './answer.ts'
import type { Connection, Login, Negotiated, Session, SmbWorld } from '../world.ts'
import { runChain } from './chain.ts'
import { isCancelGenuine } from '../command/cancel.ts'
import { answerSmb1Negotiate } from '../command/negotiate.ts'
import { createCreditWindow } from './credit.ts'
import { FramePool } from '../../memory/frame-pool.ts'
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
/** Before anybody has logged in: a security token with a long ticket in it. */
const LOGIN_FRAME_BYTES_MAX = 64 * 1024
const LOGIN_UNREAD_BYTES_MAX = 64 * 1024
/** What a login that has begun keeps: its token at the most. */
const LOGIN_BYTES = 8 * 1024

/** What requests under way may bring and be answered, together. */
const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024
/** Frames of compounds that wait, for a lock or for others to give up what they cache. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024
/** Answers that the client has not read yet. */
const UNREAD_BYTES_MAX = 16 * 1024 * 1024

const COPIED_BYTES_MAX = 16 * 1024
const NO_BYTES = Buffer.alloc(0)

/** Of all connections. */
const FRAMES = new FramePool(32 * 1024 * 1024)

/** How often a connection is looked at: without a session, or not reading, it ends at the second look. */
const LOOK_MS = 30_000
/** Half-open connections are found by the kernel. */
const KEEP_ALIVE_MS = 60_000

export function serveConnection(socket: Socket, world: SmbWorld): void {
  const connection = new SmbConnection(socket, world)
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
  readonly #credits = createCreditWindow()
  readonly #running = createRunningRequests()
  /** Frames that have come and are not begun. */
  readonly #frames: Buffer[] = []
  #inFlightBytes = 0
  #waitingBytes = 0
  #hasLoggedIn = false
  #heldByReader = (): number => 0
  readonly #cancelDelays = new Set<() => void>()
  #cancelLook = (): void => {}
  /** As of the last look. */
  #wasIdle = false
  #sentBytes = 0

  constructor(socket: Socket, world: SmbWorld) {
    this.#socket = socket
    this.#world = world
    this.clientIp = (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    this.clientPort = socket.remotePort ?? 0
    this.serverIp = (socket.localAddress ?? '').replace(/^::ffff:/, '')
  }

  start(): void {
    const socket = this.#socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    const frameBytesMax = (): number => (this.#isKnown() ? FRAME_BYTES_MAX : LOGIN_FRAME_BYTES_MAX)
    const reader = frameReader(frameBytesMax, (lengthBytes) => FRAMES.take(lengthBytes))
    this.#heldByReader = () => reader.heldBytes()
    this.#world.connections.add(this)
    this.#lookLater()
    socket.on('data', (chunk: Buffer) => {
      try {
        const messages = reader.push(chunk)
        this.#frames.push(...messages)
        if (messages.every(({ buffer }) => buffer !== chunk.buffer)) letGo(chunk)
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

  #lookLater(): void {
    this.#cancelLook = this.#world.after(LOOK_MS, () => {
      const { writableLength, bytesWritten } = this.#socket
      const isIdle =
        this.sessions.size === 0 || (writableLength > 0 && bytesWritten === this.#sentBytes)
      if (isIdle && this.#wasIdle) return this.drop()
      this.#wasIdle = isIdle
      this.#sentBytes = bytesWritten
      this.#lookLater()
    })
  }

  /** Begins what may be begun, and stops listening while something may not. */
  #flow(): void {
    try {
      while (!this.#isFull() && !this.#socket.destroyed) {
        const frame = this.#frames.shift()
        if (frame === undefined) break
        this.#receive(frame)
      }
    } catch (error) {
      return this.#fail(error)
    }
    if (this.#frames.length > 0) this.#socket.pause()
    else this.#socket.resume()
    this.#weigh()
  }

  #isKnown(): boolean {
    this.#hasLoggedIn ||= this.sessions.size > 0
    return this.#hasLoggedIn
  }

  /** Before a login there is one request at a time. */
  #isFull(): boolean {
    const { writableLength } = this.#socket
    if (!this.#isKnown()) {
      const isBusy = this.#inFlightBytes > 0 || this.delayedCount > 0
      return isBusy || writableLength >= LOGIN_UNREAD_BYTES_MAX
    }
    return this.#inFlightBytes >= IN_FLIGHT_BYTES_MAX || writableLength >= UNREAD_BYTES_MAX
  }

  /** Connections without a login hold little memory, alone and together. */
  #weigh(): void {
    const { unauthenticated } = this.#world
    if (this.isClosed || this.#isKnown()) unauthenticated.release(this)
    else unauthenticated.hold(this, this.#heldBytes())
  }

  #heldBytes(): number {
    const waiting = this.#frames.reduce((sum, { length }) => sum + length, 0)
    const logins = this.logins.size * LOGIN_BYTES
    return this.#heldByReader() + waiting + logins + this.#socket.writableLength
  }

  #receive(frame: Buffer): void {
    const protocol = protocolOf(frame)
    if (protocol === 'smb2') return this.#begin(frame, undefined)
    if (protocol === 'transform') {
      const header = decodeTransform(frame)
      // One that has no channel here is told so, sealed (dispatch.ts).
      const session = this.#world.sessions.get(header.sessionId)
      const decryptor = session?.decryptor
      if (decryptor === undefined) throw new DropConnection('sealed by no session that there is')
      return this.#begin(decryptor.decrypt(header), session)
    }
    if (protocol === 'smb1' && this.negotiated === undefined) {
      const body = answerSmb1Negotiate(this, this.#world, frame)
      const granted = this.#useId(0n, 1, 1)
      return this.#send([[encodePlainHeader(COMMAND.NEGOTIATE, 0n, granted), body]], undefined)
    }
    throw new DropConnection('no SMB2 message')
  }

  #begin(frame: Buffer, sealedBy: Session | undefined): void {
    const messages = splitCompound(frame)
    const parts: Part[] = []
    for (const message of messages) {
      const header = decodeHeader(message)
      if (header.command === COMMAND.CANCEL) {
        if (isCancelGenuine(this, header, message, sealedBy)) this.#running.cancel(header)
        continue
      }
      const credits = this.#useId(header.messageId, header.creditCharge, header.credits)
      parts.push({ message, header, credits })
    }
    if (parts.length > 0) this.#run(frame, parts, sealedBy)
  }

  #useId(messageId: bigint, charge: number, asked: number): number {
    if (!this.#credits.use(messageId, charge)) throw new DropConnection('a message id out of turn')
    return this.#credits.grant(asked)
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
        // It may wait for what the client sends next.
        this.#inFlightBytes -= weightBytes
        queueMicrotask(() => this.#flow())
        return true
      },
    }
    runChain(line, parts)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        // A WRITE leaves nothing behind that looks at its frame.
        const isWrite = parts.length === 1 && parts[0]?.header.command === COMMAND.WRITE
        if (isWrite) FRAMES.giveBack(frame)
        if (isWaiting) this.#waitingBytes -= frame.length
        else this.#inFlightBytes -= weightBytes
        if (!this.isClosed) this.#flow()
      })
  }

  /** Its own function, so that what waits keeps the answer alive and not the request. */
  #sendLater(
    delayMs: number,
    messages: readonly MessagePieces[],
    sealedBy: Session | undefined,
  ): void {
    this.delayedCount += 1
    const cancel = this.#world.after(delayMs, () => {
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
    // A few bytes are copied sooner than they are told to the kernel one by one.
    if (lengthBytes <= COPIED_BYTES_MAX) {
      this.#socket.write(Buffer.concat([prefix, ...pieces]), sent)
      return
    }
    this.#socket.cork()
    this.#socket.write(prefix)
    for (const piece of pieces.slice(0, -1)) this.#socket.write(piece)
    this.#socket.write(pieces.at(-1) ?? NO_BYTES, () => {
      sealed?.forEach(letGo)
      sent()
    })
    this.#socket.uncork()
  }

  /** What breaks the protocol's own rules ends the connection; anything else is our mistake, and does too. */
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
    this.#cancelLook()
    for (const cancel of this.#cancelDelays) cancel()
    this.#cancelDelays.clear()
    this.#world.connections.delete(this)
    this.#frames.length = 0
    this.#weigh()
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

/** What the client has paid for with credits, which is as much as the answers may have. */
function payableBytes(parts: readonly Part[]): number {
  const credits = parts.reduce((sum, { header }) => sum + Math.max(header.creditCharge, 1), 0)
  return credits * CREDIT_BYTES
}
