// An SMB client that sends messages unchecked and unchanged. Its dialect is 2.1 unless a test negotiates another; it
// authenticates with raw NTLMSSP, as Linux does.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { SIGNING } from '../../src/smb/session/dialect.ts'
import { createSigner, type Signer } from '../../src/smb/session/sign.ts'
import { encodeFramePrefix, frameReader } from '../../src/smb/wire/frame.ts'
import {
  COMMAND,
  decodeHeader,
  encodeHeader,
  HEADER_FLAG,
  joinCompound,
  splitCompound,
  type Smb2Header,
} from '../../src/smb/wire/header.ts'
import { NT_STATUS } from '../../src/smb/wire/status.ts'
import { authenticateMessage, negotiateMessage, SESSION_KEY } from './ntlm-client.ts'

export type Answer = {
  readonly header: Smb2Header
  readonly message: Buffer
  readonly status: string
}

export type Fields = Partial<Omit<Smb2Header, 'signature' | 'command'>>

/** The longest that a test waits for a response or the end: a hang must fail. */
const WAIT_MS_MAX = 60_000
const FRAME_BYTES_MAX = 0xffffff

const STATUS_NAMES = new Map<number, string>(
  Object.entries(NT_STATUS).map(([name, value]) => [value, name]),
)

export function request(command: number, body: Buffer, fields: Fields = {}): Buffer {
  const header = encodeHeader({
    creditCharge: 1,
    status: 0,
    command,
    credits: 64,
    flags: 0,
    nextCommand: 0,
    messageId: 0n,
    treeId: 0,
    asyncId: undefined,
    sessionId: 0n,
    ...fields,
  })
  return Buffer.concat([header, body])
}

export const SIMPLE_BODY = Buffer.from([4, 0, 0, 0])

export class RawClient {
  readonly #socket: Socket
  readonly #frames: Buffer[] = []
  #hasEnded = false
  #wake: () => void = () => undefined
  nextMessageId = 0n
  sessionId = 0n
  treeId = 0
  signer: Signer | undefined
  /** Sent with NEGOTIATE; clients with the same id share their leases. */
  clientGuid: Buffer = Buffer.alloc(16, 0x11)
  capabilities = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    const reader = frameReader(() => FRAME_BYTES_MAX)
    socket.on('data', (chunk: Buffer) => {
      this.#frames.push(...reader.push(chunk))
      this.#wake()
    })
    // A reset also ends the connection; 'close' follows it.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#hasEnded = true
      this.#wake()
    })
  }

  static open(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port }, () => resolve(new RawClient(socket)))
      socket.once('error', reject)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  /** Stops reading, like a client that hangs. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Sends any bytes. */
  write(bytes: Uint8Array): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  /** Sends one frame with these messages as a compound. */
  send(...messages: readonly Buffer[]): void {
    const frame = Buffer.concat(joinCompound(messages.map((each) => [each] as const)).flat())
    this.write(Buffer.concat([encodeFramePrefix(frame.length), frame]))
  }

  /** Like `send`, with each message signed. */
  sendSigned(...messages: readonly Buffer[]): void {
    const joined = joinCompound(messages.map((each) => [each] as const))
    for (const pieces of joined) this.signer?.sign(pieces)
    const frame = Buffer.concat(joined.flat())
    this.write(Buffer.concat([encodeFramePrefix(frame.length), frame]))
  }

  /** Builds a message for the session and tree, with the next id. */
  next(command: number, body: Buffer, fields: Fields = {}): Buffer {
    const { sessionId, treeId } = this
    const messageId = this.nextMessageId
    this.nextMessageId += BigInt(Math.max(fields.creditCharge ?? 1, 1))
    return request(command, body, { messageId, sessionId, treeId, ...fields })
  }

  /** Sends it and returns the response; undefined if the connection ends instead. */
  async ask(command: number, body: Buffer, fields: Fields = {}): Promise<Answer | undefined> {
    this.send(this.next(command, body, fields))
    return (await this.answers())?.[0]
  }

  /** The messages of the next frame; undefined if the connection has ended. */
  async answers(): Promise<readonly Answer[] | undefined> {
    const frame = await this.#frame()
    return frame && answersIn(frame)
  }

  /** The number of frames that were received but not read. */
  get waitingCount(): number {
    return this.#frames.length
  }

  async hasEnded(): Promise<boolean> {
    for (;;) if ((await this.#frame()) === undefined) return true
  }

  /** The next frame as received; undefined if the connection has ended. */
  async frame(): Promise<Buffer | undefined> {
    return await this.#frame()
  }

  async #frame(): Promise<Buffer | undefined> {
    let isLate = false
    const patience = setTimeout(() => {
      isLate = true
      this.#wake()
    }, WAIT_MS_MAX)
    try {
      for (;;) {
        const frame = this.#frames.shift()
        if (frame !== undefined || this.#hasEnded) return frame
        assert(!isLate, 'neither a response nor an end')
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    } finally {
      clearTimeout(patience)
    }
  }

  async negotiate(dialects: readonly number[] = [0x0210], fields: Fields = {}) {
    const body = negotiateBody(dialects)
    body.writeUInt32LE(this.capabilities, 8)
    this.clientGuid.copy(body, 12)
    return await this.ask(COMMAND.NEGOTIATE, body, fields)
  }

  /** NEGOTIATE and a login; returns the last response, with SUCCESS or the failure. */
  async logIn(user: string, password: string, securityMode = 1): Promise<Answer | undefined> {
    await this.negotiate()
    return await this.setUpSession(user, password, securityMode)
  }

  async setUpSession(user: string, password: string, securityMode = 1) {
    const first = await this.ask(
      COMMAND.SESSION_SETUP,
      sessionSetupBody(negotiateMessage(), securityMode),
    )
    if (first?.status !== 'MORE_PROCESSING_REQUIRED') return first
    this.sessionId = first.header.sessionId
    this.sendProof(first, { user, password }, securityMode)
    const last = (await this.answers())?.[0]
    if (last?.status === 'SUCCESS') this.signer = createSigner(SIGNING.hmacSha256, SESSION_KEY)
    return last
  }

  /** The second half of a login. */
  sendProof(challenge: Answer, login: { user: string; password: string }, securityMode = 1): void {
    const token = authenticateMessage(challenge.message.subarray(72), login)
    const { sessionId } = challenge.header
    const body = sessionSetupBody(token, securityMode)
    this.send(this.next(COMMAND.SESSION_SETUP, body, { sessionId }))
  }

  async connectTree(share: string, fields: Fields = {}): Promise<Answer | undefined> {
    const answer = await this.ask(COMMAND.TREE_CONNECT, treeConnectBody(share), fields)
    if (answer?.status === 'SUCCESS') this.treeId = answer.header.treeId
    return answer
  }

  /** Signs the message in place, just before it is sent. */
  sign(message: Buffer): Buffer {
    assert(this.signer)
    this.signer.sign([message])
    return message
  }
}

export function answersIn(frame: Buffer): readonly Answer[] {
  return splitCompound(frame).map((message) => decode(message))
}

function decode(message: Buffer): Answer {
  const header = decodeHeader(message)
  return { header, message, status: STATUS_NAMES.get(header.status) ?? String(header.status) }
}

export function isAnswerSigned({ header }: Answer): boolean {
  return (header.flags & HEADER_FLAG.signed) !== 0
}

export function negotiateBody(dialects: readonly number[]): Buffer {
  const body = Buffer.alloc(36 + 2 * dialects.length)
  body.writeUInt16LE(36, 0)
  body.writeUInt16LE(dialects.length, 2)
  body.writeUInt16LE(1, 4)
  body.fill(0x11, 12, 28)
  for (const [index, dialect] of dialects.entries()) body.writeUInt16LE(dialect, 36 + 2 * index)
  return body
}

export function sessionSetupBody(token: Buffer, securityMode: number): Buffer {
  const body = Buffer.alloc(24)
  body.writeUInt16LE(25, 0)
  body.writeUInt8(securityMode, 3)
  body.writeUInt16LE(64 + 24, 12)
  body.writeUInt16LE(token.length, 14)
  return Buffer.concat([body, token])
}

export function treeConnectBody(share: string): Buffer {
  const path = Buffer.from(`\\\\server\\${share}`, 'utf16le')
  const body = Buffer.alloc(8)
  body.writeUInt16LE(9, 0)
  body.writeUInt16LE(64 + 8, 4)
  body.writeUInt16LE(path.length, 6)
  return Buffer.concat([body, path])
}

/** Opens or creates a file (disposition 3) with all rights and full sharing. */
export function createBody(name: string, disposition = 3, options = 0x40): Buffer {
  const text = Buffer.from(name, 'utf16le')
  const body = Buffer.alloc(56)
  body.writeUInt16LE(57, 0)
  body.writeUInt32LE(2, 4)
  body.writeUInt32LE(0x001f01ff, 24)
  body.writeUInt32LE(7, 32)
  body.writeUInt32LE(disposition, 36)
  body.writeUInt32LE(options, 40)
  body.writeUInt16LE(64 + 56, 44)
  body.writeUInt16LE(text.length, 46)
  return Buffer.concat([body, text.length === 0 ? Buffer.alloc(1) : text])
}

/** For the file that the previous part of the chain has opened, unless an id is given. */
export function closeBody(fileId: Buffer = Buffer.alloc(16, 0xff)): Buffer {
  const body = Buffer.alloc(24)
  body.writeUInt16LE(24, 0)
  fileId.copy(body, 8)
  return body
}
