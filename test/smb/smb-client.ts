// Our own SMB2 client on a real connection: one login, one share, concurrent requests. It queues the server's breaks
// until a test reads them. Dialect 3.1.1 (every message signed with AES-GMAC) or 2.1 (unsigned).
import assert from 'node:assert/strict'
import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import {
  COMMANDS,
  createBody,
  decodeCreated,
  encodeRequest,
  negotiateBody,
  securityTokenOf,
  sessionSetupBody,
  statusName,
  treeConnectBody,
  type OpenTerms,
} from './client-message.ts'
import { acknowledgeBody, decodeBreak, type CacheBreak } from './client-message-info.ts'
import { authenticateMessage, negotiateMessage, SESSION_KEY } from './ntlm-client.ts'
import { SmbFile } from './smb-file.ts'

/** The longest that a test waits for a response: a hang must fail. */
const WAIT_MS_MAX = 60_000
const PENDING = 0x103
const ENDED = 'the connection has ended'
const UNSOLICITED = 0xffff_ffff_ffff_ffffn
const SIGNED = 0x8

export class SmbFailure extends Error {
  readonly status: string

  constructor(status: string) {
    super(`STATUS_${status}`)
    this.name = 'SmbFailure'
    this.status = status
  }
}

/** `SUCCESS`, or the status of the failure. */
export async function statusOf(running: Promise<unknown>): Promise<string> {
  try {
    await running
    return 'SUCCESS'
  } catch (error) {
    if (!(error instanceof SmbFailure)) throw error
    return error.status
  }
}

type Waiting = {
  resolve(message: Buffer): void
  reject(error: Error): void
  onPending: () => void
}

export type ClientTerms = {
  readonly port: number
  readonly share: string
  readonly dialect?: 0x0210 | 0x0311
  readonly clientGuid?: Buffer
  /** The account if left out. */
  readonly login?: { readonly user: string; readonly password: string }
}

export class SmbClient {
  readonly #socket: Socket
  readonly #waiting = new Map<bigint, Waiting>()
  readonly #breaks: CacheBreak[] = []
  #onBreak: () => void = () => undefined
  #received: Buffer[] = []
  #receivedBytes = 0
  #messageId = 0n
  #sessionId = 0n
  #treeId = 0
  #signingKey: Buffer | undefined
  /** The preauthentication hash of 3.1.1, over all messages until there are keys ([MS-SMB2] 3.2.5.2). */
  #hash = Buffer.alloc(64)
  #isHashing = true

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error(ENDED))
      this.#waiting.clear()
    })
  }

  /** Logs in and connects to a share of the account. */
  static async connect(terms: ClientTerms): Promise<SmbClient> {
    const { port, share, dialect = 0x0311, clientGuid = randomBytes(16) } = terms
    const { login = { user: ACCOUNT, password: ACCOUNT_KEY } } = terms
    const socket = connect({ host: '127.0.0.1', port })
    const client = new SmbClient(socket)
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    await client.ask(COMMANDS.NEGOTIATE, negotiateBody(dialect, clientGuid))
    await client.#logIn(dialect, login)
    await client.ask(COMMANDS.TREE_CONNECT, treeConnectBody(share))
    return client
  }

  /** Drops the connection without a logoff. */
  end(): void {
    this.#socket.destroy()
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0
  }

  async open(name: string, terms: OpenTerms = {}): Promise<SmbFile> {
    const answer = await this.ask(COMMANDS.CREATE, createBody(name, terms))
    return new SmbFile(this, decodeCreated(answer))
  }

  /** The next break from the server, in order. */
  async nextBreak(): Promise<CacheBreak> {
    for (;;) {
      const broken = this.#breaks.shift()
      if (broken !== undefined) return broken
      await within(
        new Promise<void>((resolve) => {
          this.#onBreak = resolve
        }),
        'a break',
      )
    }
  }

  /** Acknowledges every break at once from now on. */
  answerBreaks(): void {
    this.#onBreak = () => {
      for (const broken of this.#breaks.splice(0)) {
        const isAnswered = broken.kind === 'oplock' || broken.isAcknowledged
        // A break of a file that was closed in the meantime needs no acknowledgment.
        if (isAnswered) this.acknowledge(broken).catch(() => undefined)
      }
    }
  }

  get breakCount(): number {
    return this.#breaks.length
  }

  async acknowledge(broken: CacheBreak, to?: number): Promise<void> {
    await this.ask(COMMANDS.OPLOCK_BREAK, acknowledgeBody(broken, to))
  }

  /** The response; any status except SUCCESS (or an unfinished login) is a failure. */
  async ask(command: number, body: Buffer, creditCharge = 1): Promise<Buffer> {
    return await this.begin(command, body, creditCharge).answer
  }

  /** `pending` resolves with the interim response. */
  begin(
    command: number,
    body: Buffer,
    creditCharge = 1,
  ): { readonly answer: Promise<Buffer>; readonly pending: Promise<void> } {
    const messageId = this.#messageId
    this.#messageId += BigInt(creditCharge)
    const [sessionId, treeId] = [this.#sessionId, this.#treeId]
    const request = { command, messageId, sessionId, treeId, creditCharge }
    const message = encodeRequest(request, body)
    let onPending = (): void => undefined
    const pending = new Promise<void>((resolve) => {
      onPending = resolve
    })
    const answer = new Promise<Buffer>((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error(ENDED))
      this.#waiting.set(messageId, { resolve, reject, onPending })
    })
    this.#send(message)
    return { answer: within(answer, `the answer to command ${command}`), pending }
  }

  #send(message: Buffer): void {
    if (this.#signingKey !== undefined) sign(message, this.#signingKey)
    if (this.#isHashing) this.#extendHash(message)
    const prefix = Buffer.alloc(4)
    prefix.writeUInt32BE(message.length)
    this.#socket.write(Buffer.concat([prefix, message]))
  }

  #extendHash(message: Buffer): void {
    this.#hash = createHash('sha512').update(this.#hash).update(message).digest()
  }

  async #logIn(
    dialect: number,
    { user, password }: NonNullable<ClientTerms['login']>,
  ): Promise<void> {
    const first = await this.ask(COMMANDS.SESSION_SETUP, sessionSetupBody(negotiateMessage()))
    this.#sessionId = first.readBigUInt64LE(40)
    const token = authenticateMessage(securityTokenOf(first), { user, password })
    const last = this.begin(COMMANDS.SESSION_SETUP, sessionSetupBody(token))
    // The hash ends with this request, since its response is already signed.
    this.#isHashing = false
    await last.answer
    if (dialect === 0x0311) this.#signingKey = deriveSigningKey(SESSION_KEY, this.#hash)
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk)
    this.#receivedBytes += chunk.length
    while (this.#receivedBytes >= 4) {
      const bytes = this.#received.length === 1 ? this.#received[0] : Buffer.concat(this.#received)
      assert(bytes !== undefined)
      const end = 4 + bytes.readUIntBE(1, 3)
      this.#received = [bytes]
      if (bytes.length < end) return
      const rest = bytes.subarray(end)
      this.#received = [rest]
      this.#receivedBytes = rest.length
      this.#take(bytes.subarray(4, end))
    }
  }

  #take(message: Buffer): void {
    const messageId = message.readBigUInt64LE(24)
    if (messageId === UNSOLICITED) {
      this.#breaks.push(decodeBreak(message))
      return this.#onBreak()
    }
    const waiting = this.#waiting.get(messageId)
    assert(waiting !== undefined, `no request has message id ${messageId}`)
    const status = message.readUInt32LE(8)
    if (status === PENDING) return waiting.onPending()
    this.#waiting.delete(messageId)
    // Every response to a signed request is signed, except the interim one.
    if (this.#signingKey !== undefined) assert(isSignatureRight(message, this.#signingKey))
    if (this.#isHashing) this.#extendHash(message)
    // The response to TREE_CONNECT has the tree id.
    if (message.readUInt16LE(12) === COMMANDS.TREE_CONNECT) this.#treeId = message.readUInt32LE(36)
    const name = statusName(status)
    const isGood = name === 'SUCCESS' || name === 'MORE_PROCESSING_REQUIRED'
    if (isGood) waiting.resolve(message)
    else waiting.reject(new SmbFailure(name))
  }
}

function sign(message: Buffer, key: Buffer): void {
  message.writeUInt32LE(message.readUInt32LE(16) | SIGNED, 16)
  signatureOf(message, key, false).copy(message, 48)
}

function isSignatureRight(message: Buffer, key: Buffer): boolean {
  const unsigned = Buffer.from(message)
  unsigned.fill(0, 48, 64)
  const isSigned = (message.readUInt32LE(16) & SIGNED) !== 0
  return isSigned && signatureOf(unsigned, key, true).equals(message.subarray(48, 64))
}

/** [MS-SMB2] 3.1.4.1: AES-128-GMAC over the message without its signature; the nonce has the direction. */
function signatureOf(message: Buffer, key: Buffer, isFromServer: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  message.copy(nonce, 0, 24, 32)
  nonce.writeUInt8(isFromServer ? 1 : 0, 8)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  cipher.setAAD(message)
  cipher.final()
  return cipher.getAuthTag()
}

/** [MS-SMB2] 3.1.4.2: SP800-108 with the hash as its context. */
function deriveSigningKey(sessionKey: Buffer, hash: Buffer): Buffer {
  const hmac = createHmac('sha256', sessionKey)
  hmac.update(Buffer.of(0, 0, 0, 1)).update('SMBSigningKey\0\0', 'latin1')
  return hmac
    .update(hash)
    .update(Buffer.of(0, 0, 0, 128))
    .digest()
    .subarray(0, 16)
}

async function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} never arrived`)), WAIT_MS_MAX)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
