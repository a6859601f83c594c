// One SMB connection with a login and a share: sends requests one after the other or at once, and signs them all (3.1.1).
import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { NoAnswer } from '../recorder.ts'
import * as message from './message.ts'
import { ntlmAuthenticate, ntlmNegotiate, type Login } from './ntlm.ts'

const { COMMANDS } = message
const SIGNED = 0x8

type Waiting = { resolve(answer: Buffer): void; reject(error: Error): void }

export type SessionTerms = {
  readonly host: string
  readonly port: number
  readonly share: string
  readonly login: Login
  /** For each request. */
  readonly timeoutMs: number
}

export class SmbSession {
  readonly #socket: Socket
  readonly #timeoutMs: number
  readonly #waiting = new Map<bigint, Waiting>()
  #received: Buffer = Buffer.alloc(0)
  #messageId = 0n
  #sessionId = 0n
  #treeId = 0
  #signingKey: Buffer | undefined
  /** The preauthentication hash ([MS-SMB2] 3.2.5.2), over all messages until there are keys. */
  #hash: Buffer | undefined = Buffer.alloc(64)

  private constructor({ host, port, timeoutMs }: SessionTerms) {
    this.#socket = connect({ host, port })
    this.#timeoutMs = timeoutMs
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new NoAnswer('the connection ended'))
      this.#waiting.clear()
    })
  }

  /** Rejects with NoAnswer if the server is not there or ends the connection. */
  static async open(terms: SessionTerms): Promise<SmbSession> {
    const session = new SmbSession(terms)
    try {
      await session.ask(COMMANDS.NEGOTIATE, message.negotiateBody(randomBytes(16)))
      await session.#logIn(terms.login)
      const path = message.treeConnectBody(terms.host, terms.share)
      await session.ask(COMMANDS.TREE_CONNECT, path)
      return session
    } catch (error) {
      session.end()
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.#socket.destroyed
  }

  /** Without a logoff. */
  end(): void {
    this.#socket.destroy()
  }

  /** The response, whatever its status; rejects with NoAnswer if there is none. */
  async ask(command: number, body: Buffer): Promise<Buffer> {
    const messageId = this.#messageId
    this.#messageId += 1n
    const [sessionId, treeId] = [this.#sessionId, this.#treeId]
    const bytes = message.encodeRequest({ command, messageId, sessionId, treeId }, body)
    let timer: NodeJS.Timeout | undefined
    const answer = new Promise<Buffer>((resolve, reject) => {
      if (this.hasEnded) return reject(new NoAnswer('the connection has ended'))
      this.#waiting.set(messageId, { resolve, reject })
      timer = setTimeout(() => this.end(), this.#timeoutMs)
    })
    this.#send(bytes)
    try {
      return await answer
    } finally {
      clearTimeout(timer)
    }
  }

  #send(bytes: Buffer): void {
    if (this.#signingKey !== undefined) sign(bytes, this.#signingKey)
    this.#extendHash(bytes)
    const prefix = Buffer.alloc(4)
    prefix.writeUInt32BE(bytes.length)
    this.#socket.write(Buffer.concat([prefix, bytes]))
  }

  #extendHash(bytes: Buffer): void {
    this.#hash = this.#hash && createHash('sha512').update(this.#hash).update(bytes).digest()
  }

  async #logIn(login: Login): Promise<void> {
    const first = await this.ask(COMMANDS.SESSION_SETUP, message.sessionSetupBody(ntlmNegotiate())) // prettier-ignore
    if (statusOf(first) !== message.MORE_PROCESSING_REQUIRED) throw refused('the login', first)
    this.#sessionId = first.readBigUInt64LE(40)
    const { token, sessionKey } = ntlmAuthenticate(message.securityTokenOf(first), login)
    const last = this.ask(COMMANDS.SESSION_SETUP, message.sessionSetupBody(token))
    // The hash ends with this request, since its response is already signed.
    const hash = this.#hash ?? Buffer.alloc(0)
    this.#hash = undefined
    const answer = await last
    if (statusOf(answer) !== message.SUCCESS) throw refused('the login', answer)
    this.#signingKey = signingKeyOf(sessionKey, hash)
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk])
    while (this.#received.length >= 4) {
      const end = 4 + this.#received.readUIntBE(1, 3)
      if (this.#received.length < end) return
      const frame = this.#received.subarray(4, end)
      this.#received = this.#received.subarray(end)
      this.#take(frame)
    }
  }

  #take(answer: Buffer): void {
    const messageId = answer.readBigUInt64LE(24)
    const waiting = this.#waiting.get(messageId)
    if (waiting === undefined || statusOf(answer) === message.PENDING) return
    this.#waiting.delete(messageId)
    this.#extendHash(answer)
    if (this.#signingKey !== undefined && !isSignatureRight(answer, this.#signingKey))
      return waiting.reject(new Error('the SMB server has signed an answer wrongly'))
    // The response to TREE_CONNECT has the tree id.
    if (answer.readUInt16LE(12) === COMMANDS.TREE_CONNECT) {
      if (statusOf(answer) !== message.SUCCESS) return waiting.reject(refused('the share', answer))
      this.#treeId = answer.readUInt32LE(36)
    }
    waiting.resolve(answer)
  }
}

export function statusOf(answer: Buffer): number {
  return answer.readUInt32LE(8)
}

/** Also a server that is about to stop refuses. */
function refused(what: string, answer: Buffer): NoAnswer {
  return new NoAnswer(`${what} was refused with 0x${statusOf(answer).toString(16)}`)
}

function sign(bytes: Buffer, key: Buffer): void {
  bytes.writeUInt32LE(bytes.readUInt32LE(16) | SIGNED, 16)
  signatureOf(bytes, key, false).copy(bytes, 48)
}

function isSignatureRight(answer: Buffer, key: Buffer): boolean {
  const unsigned = Buffer.from(answer)
  unsigned.fill(0, 48, 64)
  return signatureOf(unsigned, key, true).equals(answer.subarray(48, 64))
}

/** [MS-SMB2] 3.1.4.1: AES-128-GMAC over the message without its signature; the nonce has the direction. */
function signatureOf(bytes: Buffer, key: Buffer, isFromServer: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  bytes.copy(nonce, 0, 24, 32)
  nonce.writeUInt8(isFromServer ? 1 : 0, 8)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  cipher.setAAD(bytes)
  cipher.final()
  return cipher.getAuthTag()
}

/** [MS-SMB2] 3.1.4.2: SP800-108 with the hash as its context. */
function signingKeyOf(sessionKey: Buffer, hash: Buffer): Buffer {
  const hmac = createHmac('sha256', sessionKey)
  hmac.update(Buffer.of(0, 0, 0, 1)).update('SMBSigningKey\0\0', 'latin1')
  return hmac
    .update(hash)
    .update(Buffer.of(0, 0, 0, 128))
    .digest()
    .subarray(0, 16)
}
