// Sessions recorded between smbclient and smbd 4.17, with every kind of signature and cipher, the password and the
// derived keys. Our functions must produce the recorded bytes.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { CipherId, Dialect, Signing } from '../../src/smb/session/dialect.ts'

export type RecordedMessage = { readonly isFromClient: boolean; readonly bytes: Buffer }

export type RecordedSession = {
  readonly name: string
  readonly user: string
  readonly domain: string
  readonly password: string
  readonly dialect: Dialect
  readonly cipher: CipherId | undefined
  readonly signing: Signing
  readonly serverChallenge: Buffer
  readonly sessionKey: Buffer
  /** All zeros before 3.1.1. */
  readonly preauthHash: Buffer
  readonly signingKey: Buffer
  readonly clientToServerKey: Buffer | undefined
  readonly serverToClientKey: Buffer | undefined
  readonly messages: readonly RecordedMessage[]
  /** The security blobs: that of the NEGOTIATE response, then those of SESSION_SETUP, starting with the client's. */
  readonly blobs: readonly [Buffer, Buffer, Buffer, Buffer, Buffer]
}

type Json = Pick<RecordedSession, 'user' | 'domain' | 'password' | 'dialect' | 'signing'> & {
  readonly cipher?: CipherId
  readonly serverChallenge: string
  readonly sessionKey: string
  readonly preauthHash?: string
  readonly signingKey: string
  readonly clientToServerKey?: string
  readonly serverToClientKey?: string
  readonly messages: readonly string[]
}

const FOLDER = new URL('vectors/', import.meta.url)
const hex = (text: string) => Buffer.from(text, 'hex')

export const RECORDED: readonly RecordedSession[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .map((file) => decode(file, JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as Json))

function decode(file: string, json: Json): RecordedSession {
  const { user, domain, password, dialect, cipher, signing } = json
  const messages = json.messages.map((line) => ({
    isFromClient: line.startsWith('C'),
    bytes: hex(line.slice(2)),
  }))
  return {
    name: file.replace('.json', ''),
    user,
    domain,
    password,
    dialect,
    cipher,
    signing,
    serverChallenge: hex(json.serverChallenge),
    sessionKey: hex(json.sessionKey),
    preauthHash: json.preauthHash === undefined ? Buffer.alloc(64) : hex(json.preauthHash),
    signingKey: hex(json.signingKey),
    clientToServerKey:
      json.clientToServerKey === undefined ? undefined : hex(json.clientToServerKey),
    serverToClientKey:
      json.serverToClientKey === undefined ? undefined : hex(json.serverToClientKey),
    messages,
    blobs: blobsOf(messages.map(({ bytes }) => bytes)),
  }
}

/** The positions of the security buffer's offset and length, relative to the header. */
function blobsOf(messages: readonly Buffer[]): RecordedSession['blobs'] {
  const [, negotiated, first, challenge, second, accepted] = messages
  const blob = (message: Buffer | undefined, at: number) => {
    assert(message !== undefined)
    const offset = message.readUInt16LE(64 + at)
    return message.subarray(offset, offset + message.readUInt16LE(64 + at + 2))
  }
  return [
    blob(negotiated, 56),
    blob(first, 12),
    blob(challenge, 4),
    blob(second, 12),
    blob(accepted, 4),
  ]
}
