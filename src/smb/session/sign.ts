// Signatures of messages ([MS-SMB2] 3.1.4.1): HMAC-SHA256 before 3.0, then AES-128-CMAC, or AES-128-GMAC if negotiated.
// There is one signer for each channel. It signs one message of a compound, from its header to the padding before the
// next one. A message comes in parts, so that file content is signed without a copy.
import { createCipheriv, createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { createCmac } from './cmac.ts'
import { SIGNING, type Signing } from './dialect.ts'

/** Parts of one message; the first contains at least the whole header. */
export type MessageParts = readonly [Buffer, ...(readonly Uint8Array[])]

export type Signer = {
  /** Sets SMB2_FLAGS_SIGNED and writes the signature into the header. */
  sign(message: MessageParts): void
  /** Whether the signature is correct. Does not change the message. */
  check(message: Buffer): boolean
}

type Mac = (header: Buffer, parts: readonly Uint8Array[]) => Buffer

const HEADER_BYTES = 64
const COMMAND_OFFSET = 12
const FLAGS_OFFSET = 16
const MESSAGE_ID_OFFSET = 24
const SIGNATURE_OFFSET = 48
const SIGNATURE_BYTES = 16

const FLAG_SERVER_TO_REDIR = 0x1
const FLAG_SIGNED = 0x8
const COMMAND_CANCEL = 12

const NO_SIGNATURE = Buffer.alloc(SIGNATURE_BYTES)

const MACS: Readonly<Record<Signing, (key: Buffer) => Mac>> = {
  [SIGNING.hmacSha256]: hmacSha256,
  [SIGNING.aesCmac]: aesCmac,
  [SIGNING.aesGmac]: aesGmac,
}

export function createSigner(signing: Signing, key: Buffer): Signer {
  const mac = MACS[signing](key)
  const signatureOf = (header: Buffer, rest: readonly Uint8Array[]) => {
    const behind = header.subarray(HEADER_BYTES)
    return mac(header, [header.subarray(0, SIGNATURE_OFFSET), NO_SIGNATURE, behind, ...rest])
  }
  return {
    sign([header, ...rest]) {
      header.writeUInt32LE((header.readUInt32LE(FLAGS_OFFSET) | FLAG_SIGNED) >>> 0, FLAGS_OFFSET)
      header.set(signatureOf(header, rest), SIGNATURE_OFFSET)
    },
    check(message) {
      if (message.length < HEADER_BYTES) return false
      const given = message.subarray(SIGNATURE_OFFSET, HEADER_BYTES)
      return timingSafeEqual(signatureOf(message, []), given)
    },
  }
}

export function isSigned(message: Buffer): boolean {
  return message.length >= HEADER_BYTES && (message.readUInt32LE(FLAGS_OFFSET) & FLAG_SIGNED) !== 0
}

function hmacSha256(key: Buffer): Mac {
  const secret = createSecretKey(key)
  return (_header, parts) => {
    const hmac = createHmac('sha256', secret)
    for (const part of parts) hmac.update(part)
    return hmac.digest().subarray(0, SIGNATURE_BYTES)
  }
}

function aesCmac(key: Buffer): Mac {
  const cmac = createCmac(key)
  return (_header, parts) => cmac(parts)
}

/** The tag of AES-GCM over an empty text, with the message as additional authenticated data. */
function aesGmac(key: Buffer): Mac {
  const secret = createSecretKey(key)
  return (header, parts) => {
    const cipher = createCipheriv('aes-128-gcm', secret, gmacNonce(header))
    for (const part of parts) if (part.length > 0) cipher.setAAD(part)
    cipher.final()
    return cipher.getAuthTag()
  }
}

/** MessageId, the direction, and whether it is a CANCEL, which has the id of the request that it cancels. */
function gmacNonce(header: Buffer): Buffer {
  const nonce = Buffer.alloc(12)
  header.copy(nonce, 0, MESSAGE_ID_OFFSET, MESSAGE_ID_OFFSET + 8)
  const isFromServer = (header.readUInt32LE(FLAGS_OFFSET) & FLAG_SERVER_TO_REDIR) !== 0
  const isCancel = header.readUInt16LE(COMMAND_OFFSET) === COMMAND_CANCEL
  nonce.writeUInt32LE((isFromServer ? 1 : 0) | (isCancel ? 2 : 0), 8)
  return nonce
}
