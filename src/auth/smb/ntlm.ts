// NTLMv2 on the server's side ([MS-NLMP] 3.3.2, 3.4): checks that an AUTHENTICATE proves knowledge of one of the
// passwords, and derives the session key. NTLMv1 and LM responses are refused.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { md4 } from './md4.ts'
import { decodeNtlmV2Response, MIC_BYTES, MIC_OFFSET, NTLM_FLAG } from './ntlm-message.ts'
import type { NtlmAuthenticate, NtlmV2Response } from './ntlm-message.ts'
import { rc4 } from './rc4.ts'

/** The messages before the AUTHENTICATE. */
export type NtlmExchange = {
  readonly negotiate: Buffer
  readonly challenge: Buffer
  readonly serverChallenge: Buffer
  /** The flags of the CHALLENGE. */
  readonly flags: number
}

export type NtlmSession = {
  /** ExportedSessionKey, 16 bytes. */
  readonly sessionKey: Buffer
  readonly flags: number
}

export type NtlmDirection = 'client-to-server' | 'server-to-client'

const SESSION_KEY_BYTES = 16

/** undefined: none of the hashes matches, or the messages were changed in transit. */
export function verifyAuthenticate(
  exchange: NtlmExchange,
  authenticate: NtlmAuthenticate,
  ntHashes: readonly Uint8Array[],
): NtlmSession | undefined {
  const response = decodeNtlmV2Response(authenticate.ntResponse)
  const isAnonymous = (authenticate.flags & NTLM_FLAG.anonymous) !== 0 || authenticate.user === ''
  if (response === undefined || isAnonymous) return undefined
  for (const hash of ntHashes) {
    const key = ntowfV2(hash, authenticate.user, authenticate.domain)
    const proof = hmacMd5(key, exchange.serverChallenge, response.clientChallenge)
    if (timingSafeEqual(proof, response.proof)) {
      return openSession(exchange, authenticate, response, hmacMd5(key, proof))
    }
  }
  return undefined
}

/** [MS-NLMP] 3.2.5.1.2: a login without name and proof. Its base key is all zeros, so its signatures prove little. */
export function anonymousSession(
  exchange: NtlmExchange,
  { flags: chosen, user, ntResponse, encryptedSessionKey }: NtlmAuthenticate,
): NtlmSession | undefined {
  if (user !== '' || ntResponse.length > 0) return undefined
  const flags = chosen & exchange.flags
  const sessionKey = exportedSessionKey(flags, encryptedSessionKey, Buffer.alloc(SESSION_KEY_BYTES))
  return sessionKey && { sessionKey, flags }
}

function openSession(
  exchange: NtlmExchange,
  authenticate: NtlmAuthenticate,
  response: NtlmV2Response,
  sessionBaseKey: Buffer,
): NtlmSession | undefined {
  // What the client chose of what was offered.
  const flags = authenticate.flags & exchange.flags
  const sessionKey = exportedSessionKey(flags, authenticate.encryptedSessionKey, sessionBaseKey)
  if (sessionKey === undefined) return undefined
  if (response.hasMic && !isMicRight(exchange, authenticate.message, sessionKey)) return undefined
  return { sessionKey, flags }
}

/** [MS-NLMP] 3.3.1, NTOWFv1: the hash of a password. */
export function ntHashOf(password: string): Buffer {
  return md4(Buffer.from(password, 'utf16le'))
}

/** [MS-NLMP] 3.3.2: the domain exactly as sent, the user in upper case. */
export function ntowfV2(ntHash: Uint8Array, user: string, domain: string): Buffer {
  return hmacMd5(ntHash, Buffer.from(user.toUpperCase() + domain, 'utf16le'))
}

/** For NTLMv2 the key exchange key is the session base key ([MS-NLMP] 3.4.5.1). */
function exportedSessionKey(flags: number, encrypted: Buffer, base: Buffer): Buffer | undefined {
  if ((flags & NTLM_FLAG.keyExchange) === 0) return base
  return encrypted.length === SESSION_KEY_BYTES ? rc4(base, encrypted) : undefined
}

/** [MS-NLMP] 3.2.5.1.2: the MIC covers all three messages, the third with zeros in place of the MIC. */
function isMicRight(exchange: NtlmExchange, message: Buffer, sessionKey: Buffer): boolean {
  const end = MIC_OFFSET + MIC_BYTES
  if (message.length < end) return false
  const expected = hmacMd5(
    sessionKey,
    exchange.negotiate,
    exchange.challenge,
    message.subarray(0, MIC_OFFSET),
    Buffer.alloc(MIC_BYTES),
    message.subarray(end),
  )
  return timingSafeEqual(expected, message.subarray(MIC_OFFSET, end))
}

/**
 * The first signature of a direction (sequence number 0), which is the mechListMIC: [MS-NLMP] 3.4.4.2.
 * undefined without extended session security: the older signatures are not supported.
 */
export function ntlmSignature(
  session: NtlmSession,
  direction: NtlmDirection,
  bytes: Uint8Array,
): Buffer | undefined {
  const { flags, sessionKey } = session
  if ((flags & NTLM_FLAG.extendedSessionSecurity) === 0) return undefined
  const sequence = Buffer.alloc(4)
  const signKey = magicKey(sessionKey, `${direction} signing`)
  const checksum = hmacMd5(signKey, sequence, bytes).subarray(0, 8)
  const sealKey = magicKey(sessionKey.subarray(0, sealKeyBytes(flags)), `${direction} sealing`)
  const wrapped = (flags & NTLM_FLAG.keyExchange) === 0 ? checksum : rc4(sealKey, checksum)
  return Buffer.concat([Buffer.of(1, 0, 0, 0), wrapped, sequence])
}

/** [MS-NLMP] 3.4.5.3: the sealing key has the negotiated strength. */
function sealKeyBytes(flags: number): number {
  if ((flags & NTLM_FLAG.key128) !== 0) return SESSION_KEY_BYTES
  return (flags & NTLM_FLAG.key56) === 0 ? 5 : 7
}

function magicKey(key: Uint8Array, use: string): Buffer {
  const magic = `session key to ${use} key magic constant\0`
  return createHash('md5').update(key).update(magic, 'latin1').digest()
}

function hmacMd5(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const hmac = createHmac('md5', key)
  for (const part of parts) hmac.update(part)
  return hmac.digest()
}
