// Encryption of messages ([MS-SMB2] 2.2.41, 3.1.4.3): a TRANSFORM_HEADER and then the ciphertext of a whole compound.
// There is one encryptor for each session, not for each channel: channels share the key, and a nonce must never
// repeat under one key.
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { freeBuffer } from '../../memory/free-buffer.ts'
import { CIPHER, CIPHERS, type CipherId } from './dialect.ts'

/** A malformed TRANSFORM_HEADER, a changed message, or no nonce left: the connection is dropped. */
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
  /** The encrypted message in parts: its header, and ciphertext in newly allocated memory. */
  encrypt(message: readonly Uint8Array[]): readonly Buffer[]
}

export type Decryptor = {
  /** Decrypts the message in place. Throws a TransformError if a bit was changed or the key is wrong. */
  decrypt(header: TransformHeader): Buffer
}

type Sealed = { readonly tag: Buffer; readonly ciphertext: readonly Buffer[] }
type Seal = (nonce: Buffer, authenticated: Buffer, message: readonly Uint8Array[]) => Sealed
type Unseal = (header: TransformHeader, nonce: Buffer) => Buffer

const TRANSFORM_HEADER_BYTES = 52
const PROTOCOL_ID = Buffer.from('fd534d42', 'hex')
const TAG_OFFSET = 4
const TAG_BYTES = 16
const NONCE_OFFSET = 20
const NONCE_BYTES = 16
const ORIGINAL_MESSAGE_SIZE_OFFSET = 36
const FLAGS_OFFSET = 42
const SESSION_ID_OFFSET = 44
/** Flags of 3.1.1. In 3.0 the field is EncryptionAlgorithm, where the same number is AES-128-CCM. */
const FLAG_ENCRYPTED = 1
const MESSAGE_BYTES_MIN = 64
/**
 * The bytes that a cipher gets per call. node:crypto allocates its output one byte too long and copies it into memory of
 * the right length. If that length is a multiple of a page, malloc places the copy 16 bytes further into its page, and
 * such copies are several times slower on some processors (AMD's Zen 3). Measured per MiB: 1.1 ms in parts of 64 KiB,
 * 0.4 ms in these, 2.6 ms with 8 MiB at once.
 */
const PART_BYTES = 63 * 1024

/** node:crypto needs the length of the message in advance for CCM, but not for GCM. */
const SEALS: Readonly<Record<CipherId, (key: KeyObject) => readonly [Seal, Unseal]>> = {
  [CIPHER.aes128Ccm]: (key) => ccm('aes-128-ccm', key),
  [CIPHER.aes128Gcm]: (key) => gcm('aes-128-gcm', key),
  [CIPHER.aes256Ccm]: (key) => ccm('aes-256-ccm', key),
  [CIPHER.aes256Gcm]: (key) => gcm('aes-256-gcm', key),
}

export function isTransform(frame: Buffer): boolean {
  return frame.subarray(0, PROTOCOL_ID.length).equals(PROTOCOL_ID)
}

/** The fields are views of `frame`. Its session has the key that decrypts it. */
export function decodeTransform(frame: Buffer): TransformHeader {
  if (!isTransform(frame)) throw new TransformError('not a TRANSFORM_HEADER')
  const lengthBytes = frame.length - TRANSFORM_HEADER_BYTES
  if (lengthBytes < MESSAGE_BYTES_MIN) throw new TransformError('too short for a message')
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

/** Only tests pass `nonces`. They must make sure that no nonce repeats. */
export function createEncryptor(
  cipher: CipherId,
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

export function createDecryptor(cipher: CipherId, key: Buffer): Decryptor {
  const [, unseal] = SEALS[cipher](createSecretKey(key))
  const { nonceBytes } = CIPHERS[cipher]
  return {
    decrypt(header) {
      try {
        return unseal(header, header.nonce.subarray(0, nonceBytes))
      } catch (error) {
        // OpenSSL reports only that the tag is wrong.
        throw new TransformError('the message was changed or the key is wrong', { cause: error })
      }
    },
  }
}

/**
 * Counts 0, 1, 2 …, so that no nonce repeats under a fresh key. `next` is the first one. Throws long before the nonce
 * would wrap.
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

/** node:crypto can't decrypt in place. */
function putBack(plain: Buffer, ciphertext: Buffer, at: number): void {
  ciphertext.set(plain, at)
  freeBuffer(plain)
}

/** CCM needs the length first, and node:crypto takes the whole message at once. */
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
