// Encryption of messages ([MS-SMB2] 2.2.41, 3.1.4.3): a TRANSFORM_HEADER and behind it the ciphertext of a
// whole compound. An encryptor is made once for each session, not for each channel: channels share the
// key, and a nonce must never come twice under one key.
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { letGo } from '../../memory/let-go.ts'
import { CIPHER, CIPHERS, type Cipher } from './dialect.ts'

/** Not a TRANSFORM_HEADER, or not what the client sent, or no nonce left: the connection is dropped. */
export class TransformError extends Error {
  override readonly name = 'TransformError'
}

export type TransformHeader = {
  readonly tag: Buffer
  readonly nonce: Buffer
  readonly sessionId: bigint
  /** What the tag protects besides the ciphertext. */
  readonly authenticated: Buffer
  readonly ciphertext: Buffer
}

export type Encryptor = {
  /** The transformed message in parts: its header, and ciphertext in memory of its own. */
  encrypt(message: readonly Uint8Array[]): readonly Buffer[]
}

export type Decryptor = {
  /** The message within, in the place of its ciphertext; a TransformError if a bit was changed or the key is another. */
  decrypt(header: TransformHeader): Buffer
}

type Sealed = { readonly tag: Buffer; readonly ciphertext: readonly Buffer[] }
type Seal = (nonce: Buffer, authenticated: Buffer, message: readonly Uint8Array[]) => Sealed
type Unseal = (header: TransformHeader, nonce: Buffer) => Buffer

export const TRANSFORM_HEADER_BYTES = 52
const PROTOCOL_ID = Buffer.from('fd534d42', 'hex')
const TAG_OFFSET = 4
const TAG_BYTES = 16
const NONCE_OFFSET = 20
const NONCE_BYTES = 16
const ORIGINAL_MESSAGE_SIZE_OFFSET = 36
const FLAGS_OFFSET = 42
const SESSION_ID_OFFSET = 44
/** Flags of 3.1.1, and with the same number EncryptionAlgorithm (AES-128-CCM) of 3.0. */
const FLAG_ENCRYPTED = 1
const MESSAGE_BYTES_MIN = 64
/**
 * What is given to a cipher at once. node:crypto makes its output a byte too long and copies it into memory of the right
 * length, which malloc then puts 16 bytes further into its page if this is a multiple of a page; and copies between
 * such places are several times as slow on some processors (AMD's Zen 3). Measured, for a MiB: 1.1 ms in parts of 64 KiB,
 * 0.4 in these, 2.6 all of 8 MiB at once.
 */
const PART_BYTES = 63 * 1024

/** How a cipher is called; CCM and GCM differ in what node:crypto wants to know beforehand. */
const SEALS: Readonly<Record<Cipher, (key: KeyObject) => readonly [Seal, Unseal]>> = {
  [CIPHER.aes128Ccm]: (key) => ccm('aes-128-ccm', key),
  [CIPHER.aes128Gcm]: (key) => gcm('aes-128-gcm', key),
  [CIPHER.aes256Ccm]: (key) => ccm('aes-256-ccm', key),
  [CIPHER.aes256Gcm]: (key) => gcm('aes-256-gcm', key),
}

export function isTransform(frame: Buffer): boolean {
  return frame.subarray(0, PROTOCOL_ID.length).equals(PROTOCOL_ID)
}

/** Views of `frame`. The session must be known before anything can be decrypted. */
export function decodeTransform(frame: Buffer): TransformHeader {
  if (!isTransform(frame)) throw new TransformError('not a TRANSFORM_HEADER')
  const lengthBytes = frame.length - TRANSFORM_HEADER_BYTES
  if (lengthBytes < MESSAGE_BYTES_MIN) throw new TransformError('no room for a message')
  if (frame.readUInt32LE(ORIGINAL_MESSAGE_SIZE_OFFSET) !== lengthBytes) {
    throw new TransformError('OriginalMessageSize is not the length of the message')
  }
  if (frame.readUInt16LE(FLAGS_OFFSET) !== FLAG_ENCRYPTED) throw new TransformError('unknown flags')
  return {
    tag: frame.subarray(TAG_OFFSET, TAG_OFFSET + TAG_BYTES),
    nonce: frame.subarray(NONCE_OFFSET, NONCE_OFFSET + NONCE_BYTES),
    sessionId: frame.readBigUInt64LE(SESSION_ID_OFFSET),
    authenticated: frame.subarray(NONCE_OFFSET, TRANSFORM_HEADER_BYTES),
    ciphertext: frame.subarray(TRANSFORM_HEADER_BYTES),
  }
}

/** `nonces` is for tests: whoever passes one answers for it that none ever comes twice. */
export function createEncryptor(
  cipher: Cipher,
  key: Buffer,
  sessionId: bigint,
  nonces: () => Buffer = createNonces(CIPHERS[cipher].nonceBytes),
): Encryptor {
  const [seal] = SEALS[cipher](createSecretKey(key))
  return {
    encrypt(message) {
      const nonce = nonces()
      const header = Buffer.alloc(TRANSFORM_HEADER_BYTES)
      header.set(PROTOCOL_ID)
      header.set(nonce, NONCE_OFFSET)
      const lengthBytes = message.reduce((sum, part) => sum + part.length, 0)
      header.writeUInt32LE(lengthBytes, ORIGINAL_MESSAGE_SIZE_OFFSET)
      header.writeUInt16LE(FLAG_ENCRYPTED, FLAGS_OFFSET)
      header.writeBigUInt64LE(sessionId, SESSION_ID_OFFSET)
      const { tag, ciphertext } = seal(nonce, header.subarray(NONCE_OFFSET), message)
      header.set(tag, TAG_OFFSET)
      return [header, ...ciphertext]
    },
  }
}

export function createDecryptor(cipher: Cipher, key: Buffer): Decryptor {
  const [, unseal] = SEALS[cipher](createSecretKey(key))
  const { nonceBytes } = CIPHERS[cipher]
  return {
    decrypt(header) {
      try {
        return unseal(header, header.nonce.subarray(0, nonceBytes))
      } catch (error) {
        // OpenSSL says no more than that the tag is wrong.
        throw new TransformError('the message was changed or is of another key', { cause: error })
      }
    },
  }
}

/**
 * 0, 1, 2 …: under a key that is fresh, counting is the one way that cannot give the same twice. `next`
 * is where it begins. It throws long before the nonce would wrap.
 */
export function createNonces(lengthBytes: number, next = 0): () => Buffer {
  return () => {
    if (next >= Number.MAX_SAFE_INTEGER) throw new TransformError('no nonce is left')
    const nonce = Buffer.alloc(lengthBytes)
    nonce.writeBigUInt64LE(BigInt(next++))
    return nonce
  }
}

function gcm(algorithm: 'aes-128-gcm' | 'aes-256-gcm', key: KeyObject): readonly [Seal, Unseal] {
  const options = { authTagLength: TAG_BYTES }
  const seal: Seal = (nonce, authenticated, message) => {
    const cipher = createCipheriv(algorithm, key, nonce, options).setAAD(authenticated)
    const ciphertext: Buffer[] = []
    for (const piece of message) {
      for (let at = 0; at < piece.length; at += PART_BYTES) {
        ciphertext.push(cipher.update(piece.subarray(at, at + PART_BYTES)))
      }
    }
    cipher.final()
    return { tag: cipher.getAuthTag(), ciphertext }
  }
  const unseal: Unseal = ({ authenticated, tag, ciphertext }, nonce) => {
    const decipher = createDecipheriv(algorithm, key, nonce, options).setAAD(authenticated)
    decipher.setAuthTag(tag)
    for (let at = 0; at < ciphertext.length; at += PART_BYTES) {
      putBack(decipher.update(ciphertext.subarray(at, at + PART_BYTES)), ciphertext, at)
    }
    decipher.final()
    return ciphertext
  }
  return [seal, unseal]
}

/** node:crypto has no way to decrypt in place. */
function putBack(plain: Buffer, ciphertext: Buffer, at: number): void {
  ciphertext.set(plain, at)
  letGo(plain)
}

/** CCM must know the length first, and node:crypto takes all of the message at once. */
function ccm(algorithm: 'aes-128-ccm' | 'aes-256-ccm', key: KeyObject): readonly [Seal, Unseal] {
  const options = { authTagLength: TAG_BYTES }
  const seal: Seal = (nonce, authenticated, message) => {
    const whole = message.length === 1 && message[0] ? message[0] : Buffer.concat(message)
    const cipher = createCipheriv(algorithm, key, nonce, options)
    cipher.setAAD(authenticated, { plaintextLength: whole.length })
    const ciphertext = [cipher.update(whole)]
    cipher.final()
    return { tag: cipher.getAuthTag(), ciphertext }
  }
  const unseal: Unseal = ({ authenticated, tag, ciphertext }, nonce) => {
    const decipher = createDecipheriv(algorithm, key, nonce, options).setAuthTag(tag)
    decipher.setAAD(authenticated, { plaintextLength: ciphertext.length })
    putBack(decipher.update(ciphertext), ciphertext, 0)
    decipher.final()
    return ciphertext
  }
  return [seal, unseal]
}
