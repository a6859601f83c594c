// A minimal NTLMv2 client for behaviour of real clients that was not recorded: no MIC, no key exchange, other users and
// domains.
import { createHash, createHmac } from 'node:crypto'
import { contextTag, DER_TAG, encodeDer } from '../../src/auth/smb/der.ts'
import { ntHashOf, ntowfV2 } from '../../src/auth/smb/ntlm.ts'
import { NTLM_FLAG } from '../../src/auth/smb/ntlm-message.ts'
import { rc4 } from '../../src/auth/smb/rc4.ts'

export const CLIENT_FLAGS = 0x62088235
export const SESSION_KEY = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')

export type ClientAnswer = {
  readonly user: string
  readonly domain?: string
  readonly password: string
  readonly flags?: number
  /** The AV pairs of the response; none unless given. */
  readonly pairs?: Buffer
  /** Replaces the right NT response. */
  readonly ntResponse?: Buffer
  /** The messages before this one; gives the message a MIC. */
  readonly mic?: { readonly negotiate: Buffer; readonly challenge: Buffer }
}

export const AV_HAS_MIC = Buffer.from('060004000200000000000000', 'hex')

const utf16 = (text: string) => Buffer.from(text, 'utf16le')

export function hmacMd5(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  return createHmac('md5', key).update(Buffer.concat(parts)).digest()
}

export function negotiateMessage(flags = CLIENT_FLAGS): Buffer {
  const message = Buffer.alloc(40)
  message.write('NTLMSSP\0\x01', 'latin1')
  message.writeUInt32LE(flags >>> 0, 12)
  return message
}

export function authenticateMessage(challenge: Buffer, answer: ClientAnswer): Buffer {
  const { user, domain = '', password, flags = CLIENT_FLAGS, pairs = Buffer.alloc(0), mic } = answer
  const key = ntowfV2(ntHashOf(password), user, domain)
  const blob = Buffer.concat([Buffer.of(1, 1), Buffer.alloc(26, 7), pairs])
  const proof = hmacMd5(key, challenge.subarray(24, 32), blob)
  const base = hmacMd5(key, proof)
  const hasKeyExchange = (flags & NTLM_FLAG.keyExchange) !== 0
  const ntResponse = answer.ntResponse ?? Buffer.concat([proof, blob])
  const wrapped = hasKeyExchange ? rc4(base, SESSION_KEY) : Buffer.alloc(0)
  const fields = [Buffer.alloc(0), ntResponse, utf16(domain), utf16(user), utf16('PC'), wrapped]
  const message = layOut(fields, flags)
  if (mic !== undefined) {
    const sum = hmacMd5(hasKeyExchange ? SESSION_KEY : base, mic.negotiate, mic.challenge, message)
    sum.copy(message, 72)
  }
  return message
}

function layOut(fields: readonly Buffer[], flags: number): Buffer {
  const header = Buffer.alloc(88)
  header.write('NTLMSSP\0\x03', 'latin1')
  let offset = header.length
  for (const [index, field] of fields.entries()) {
    header.writeUInt16LE(field.length, 12 + index * 8)
    header.writeUInt16LE(field.length, 14 + index * 8)
    header.writeUInt32LE(offset, 16 + index * 8)
    offset += field.length
  }
  header.writeUInt32LE(flags >>> 0, 60)
  return Buffer.concat([header, ...fields])
}

export function mechTypeList(...mechanisms: readonly string[]): Buffer {
  const oids = mechanisms.map((hex) => encodeDer(DER_TAG.objectIdentifier, Buffer.from(hex, 'hex')))
  return encodeDer(DER_TAG.sequence, ...oids)
}

export function negTokenInit(list: Buffer, mechToken?: Buffer): Buffer {
  const token = mechToken && encodeDer(contextTag(2), encodeDer(DER_TAG.octetString, mechToken))
  const fields = [encodeDer(contextTag(0), list), ...(token === undefined ? [] : [token])]
  const oid = encodeDer(DER_TAG.objectIdentifier, Buffer.from('2b0601050502', 'hex'))
  const inner = encodeDer(contextTag(0), encodeDer(DER_TAG.sequence, ...fields))
  return encodeDer(DER_TAG.application0, oid, inner)
}

/** The client's mechListMIC under SESSION_KEY, with key exchange and 128 bits. */
export function clientMic(list: Buffer): Buffer {
  const key = (use: string) =>
    createHash('md5')
      .update(SESSION_KEY)
      .update(`session key to client-to-server ${use} key magic constant\0`, 'latin1')
      .digest()
  const sum = hmacMd5(key('signing'), Buffer.alloc(4), list).subarray(0, 8)
  return Buffer.concat([Buffer.of(1, 0, 0, 0), rc4(key('sealing'), sum), Buffer.alloc(4)])
}
