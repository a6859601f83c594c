// The keys of a session, derived from the key of the login ([MS-SMB2] 3.1.4.2), and the preauthentication hash of 3.1.1
// over all messages before there are keys. A NEGOTIATE that was changed in transit gives other keys.
import { createHash, createHmac } from 'node:crypto'
import { CIPHERS, DIALECT, type CipherId, type Dialect } from './dialect.ts'

export type SessionKeys = {
  /** The key of the session and of its first channel. */
  readonly signing: Buffer
  /** The server encrypts with it. undefined if the connection has no cipher. */
  readonly encryption: Buffer | undefined
  /** The client encrypts with it. */
  readonly decryption: Buffer | undefined
}

export type SessionSecret = {
  readonly dialect: Dialect
  readonly cipher: CipherId | undefined
  /** ExportedSessionKey of NTLM, or the key of a Kerberos ticket. */
  readonly sessionKey: Buffer
  /** Only for 3.1.1: over the connection's NEGOTIATE and this login's SESSION_SETUPs. */
  readonly preauthHash: Buffer
}

type KeyUse = 'signing' | 'encryption' | 'decryption'

/** [MS-SMB2] 3.3.5.5.3: label and context before 3.1.1, and the label of 3.1.1, whose context is the hash. */
const LABELS: Readonly<Record<KeyUse, readonly [string, string, string]>> = {
  signing: ['SMB2AESCMAC\0', 'SmbSign\0', 'SMBSigningKey\0'],
  encryption: ['SMB2AESCCM\0', 'ServerOut\0', 'SMBS2CCipherKey\0'],
  decryption: ['SMB2AESCCM\0', 'ServerIn \0', 'SMBC2SCipherKey\0'],
}

const KEY_BYTES = 16
const ONE = Buffer.of(0, 0, 0, 1)
const ZERO = Buffer.alloc(1)

export function deriveSessionKeys(secret: SessionSecret): SessionKeys {
  const { dialect, cipher } = secret
  const cipherBytes = cipher === undefined ? undefined : CIPHERS[cipher].keyBytes
  const hasCipher = cipherBytes !== undefined && dialect >= DIALECT.smb300
  return {
    signing: deriveSigningKey(secret),
    encryption: hasCipher ? deriveUse(secret, 'encryption', cipherBytes) : undefined,
    decryption: hasCipher ? deriveUse(secret, 'decryption', cipherBytes) : undefined,
  }
}

/** Each channel of a session has its own signing key and shares the other keys. */
export function deriveSigningKey(secret: SessionSecret): Buffer {
  return secret.dialect < DIALECT.smb300
    ? firstKeyBytes(secret.sessionKey)
    : deriveUse(secret, 'signing', KEY_BYTES)
}

function deriveUse(secret: SessionSecret, use: KeyUse, lengthBytes: 16 | 32): Buffer {
  const { dialect, sessionKey, preauthHash } = secret
  const [label, context, label311] = LABELS[use]
  // Session.SessionKey has 16 bytes. Only 32-byte keys are derived from the full key of a ticket.
  const from = lengthBytes === KEY_BYTES ? firstKeyBytes(sessionKey) : sessionKey
  return dialect === DIALECT.smb311
    ? deriveKey(from, label311, preauthHash, lengthBytes)
    : deriveKey(from, label, Buffer.from(context, 'latin1'), lengthBytes)
}

/** SP800-108 in counter mode with HMAC-SHA256: one round gives up to 32 bytes. */
export function deriveKey(
  from: Uint8Array,
  label: string,
  context: Uint8Array,
  lengthBytes: 16 | 32,
): Buffer {
  const lengthBits = Buffer.alloc(4)
  lengthBits.writeUInt32BE(lengthBytes * 8)
  const hmac = createHmac('sha256', from)
  hmac.update(ONE).update(label, 'latin1').update(ZERO).update(context).update(lengthBits)
  return hmac.digest().subarray(0, lengthBytes)
}

/** Shorter keys are padded with zeros ([MS-SMB2] 3.3.5.5.3). */
function firstKeyBytes(sessionKey: Buffer): Buffer {
  const key = Buffer.alloc(KEY_BYTES)
  sessionKey.copy(key)
  return key
}

/** The initial hash of a connection ([MS-SMB2] 3.3.5.4). */
export const PREAUTH_HASH_START: Buffer = Buffer.alloc(64)

/**
 * Adds one message to the hash, whole and as it was on the wire. The hash of a connection covers NEGOTIATE and its
 * response. That of a login continues it with each SESSION_SETUP and each response except the last.
 */
export function extendPreauthHash(hash: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const next = createHash('sha512').update(hash)
  for (const part of parts) next.update(part)
  return next.digest()
}
