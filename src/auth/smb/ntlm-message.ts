// The three messages of NTLMSSP ([MS-NLMP] 2.2.1) on the server's side: NEGOTIATE and AUTHENTICATE are decoded,
// CHALLENGE is encoded. Every offset and length from the client is checked before use; one that doesn't fit
// throws a SecurityTokenError.
import { SecurityTokenError } from './security-token-error.ts'

/** [MS-NLMP] 2.2.2.5 */
export const NTLM_FLAG = {
  unicode: 0x1,
  requestTarget: 0x4,
  sign: 0x10,
  seal: 0x20,
  ntlm: 0x200,
  anonymous: 0x800,
  alwaysSign: 0x8000,
  targetTypeServer: 0x20000,
  extendedSessionSecurity: 0x80000,
  targetInfo: 0x800000,
  version: 0x2000000,
  key128: 0x20000000,
  keyExchange: 0x40000000,
  key56: 0x80000000,
} as const

/** What the server supports if the client asks for it. */
const OFFERED =
  Object.values(NTLM_FLAG).reduce<number>((all, flag) => all | flag, 0) & ~NTLM_FLAG.anonymous
/** Set in every CHALLENGE, which has a server name and AV pairs, in Unicode, for NTLM. */
const ALWAYS =
  NTLM_FLAG.unicode |
  NTLM_FLAG.requestTarget |
  NTLM_FLAG.ntlm |
  NTLM_FLAG.targetTypeServer |
  NTLM_FLAG.targetInfo

/** [MS-NLMP] 2.2.2.1 */
const AV = {
  end: 0,
  nbComputerName: 1,
  nbDomainName: 2,
  dnsComputerName: 3,
  dnsDomainName: 4,
  flags: 6,
  timestamp: 7,
} as const
const AV_FLAG_HAS_MIC = 2

const SIGNATURE = Buffer.from('NTLMSSP\0', 'latin1')
/** 6.1, revision 15 of NTLMSSP. Clients only display it. */
const VERSION = Buffer.from('060100000000000f', 'hex')
const CHALLENGE_HEADER_BYTES = 56
const NEGOTIATE_BYTES_MIN = 16
const AUTHENTICATE_BYTES_MIN = 64
export const MIC_OFFSET = 72
export const MIC_BYTES = 16
const PROOF_BYTES = 16
/** The part of NTLMv2_CLIENT_CHALLENGE ([MS-NLMP] 2.2.2.7) before its AV pairs. */
const CLIENT_CHALLENGE_BYTES = 28

export type NtlmServerNames = {
  /** At most 15 characters, the limit of NetBIOS. */
  readonly nbName: string
  readonly dnsName: string
  readonly dnsDomain: string
}

export type NtlmAuthenticate = {
  readonly flags: number
  readonly user: string
  readonly domain: string
  readonly ntResponse: Buffer
  readonly encryptedSessionKey: Buffer
  /** The whole message, for its MIC. */
  readonly message: Buffer
}

export type NtlmV2Response = {
  readonly proof: Buffer
  /** The proof covers it, together with the server's challenge. */
  readonly clientChallenge: Buffer
  /** Whether the AUTHENTICATE has a MIC. The proof protects this flag. */
  readonly hasMic: boolean
}

export function isNtlmMessage(bytes: Buffer): boolean {
  return bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)
}

/** The flags of a NEGOTIATE; its names are ignored. */
export function decodeNegotiate(bytes: Buffer): { readonly flags: number } {
  checkMessage(bytes, 1, NEGOTIATE_BYTES_MIN)
  const flags = bytes.readUInt32LE(12)
  if ((flags & NTLM_FLAG.unicode) === 0) throw new SecurityTokenError('NTLM: no Unicode')
  return { flags }
}

export function challengeFlags(clientFlags: number): number {
  return ((clientFlags & OFFERED) | ALWAYS) >>> 0
}

export function encodeChallenge(challenge: {
  readonly flags: number
  readonly serverChallenge: Uint8Array
  readonly names: NtlmServerNames
  readonly timestamp: bigint
}): Buffer {
  const { flags, serverChallenge, names, timestamp } = challenge
  const targetName = utf16(names.nbName)
  const pairs = encodeAvPairs(names, timestamp)
  const header = Buffer.alloc(CHALLENGE_HEADER_BYTES)
  header.set(SIGNATURE)
  header.writeUInt32LE(2, 8)
  writeField(header, 12, targetName, CHALLENGE_HEADER_BYTES)
  header.writeUInt32LE(flags, 20)
  header.set(serverChallenge, 24)
  writeField(header, 40, pairs, CHALLENGE_HEADER_BYTES + targetName.length)
  if ((flags & NTLM_FLAG.version) !== 0) header.set(VERSION, 48)
  return Buffer.concat([header, targetName, pairs])
}

/** With a Timestamp, clients add a MIC to their AUTHENTICATE ([MS-NLMP] 3.1.5.1.2). */
function encodeAvPairs(names: NtlmServerNames, timestamp: bigint): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64LE(timestamp)
  return Buffer.concat([
    encodeAvPair(AV.nbDomainName, utf16(names.nbName)),
    encodeAvPair(AV.nbComputerName, utf16(names.nbName)),
    encodeAvPair(AV.dnsDomainName, utf16(names.dnsDomain)),
    encodeAvPair(AV.dnsComputerName, utf16(names.dnsName)),
    encodeAvPair(AV.timestamp, time),
    encodeAvPair(AV.end, Buffer.alloc(0)),
  ])
}

function encodeAvPair(id: number, value: Buffer): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt16LE(id)
  header.writeUInt16LE(value.length, 2)
  return Buffer.concat([header, value])
}

function writeField(header: Buffer, at: number, value: Buffer, offset: number): void {
  header.writeUInt16LE(value.length, at)
  header.writeUInt16LE(value.length, at + 2)
  header.writeUInt32LE(offset, at + 4)
}

export function decodeAuthenticate(bytes: Buffer): NtlmAuthenticate {
  checkMessage(bytes, 3, AUTHENTICATE_BYTES_MIN)
  const flags = bytes.readUInt32LE(60)
  if ((flags & NTLM_FLAG.unicode) === 0) throw new SecurityTokenError('NTLM: no Unicode')
  return {
    flags,
    ntResponse: readField(bytes, 20),
    domain: readText(bytes, 28),
    user: readText(bytes, 36),
    encryptedSessionKey: readField(bytes, 52),
    message: bytes,
  }
}

/** undefined: not an NTLMv2 response. An NTLMv1 response always has 24 bytes, an NTLMv2 response never has. */
export function decodeNtlmV2Response(bytes: Buffer): NtlmV2Response | undefined {
  if (bytes.length < PROOF_BYTES + CLIENT_CHALLENGE_BYTES) return undefined
  const clientChallenge = bytes.subarray(PROOF_BYTES)
  if (clientChallenge[0] !== 1 || clientChallenge[1] !== 1) return undefined
  const flags = findAvPair(clientChallenge.subarray(CLIENT_CHALLENGE_BYTES), AV.flags)
  const hasMic = flags?.length === 4 && (flags.readUInt32LE() & AV_FLAG_HAS_MIC) !== 0
  return { proof: bytes.subarray(0, PROOF_BYTES), clientChallenge, hasMic }
}

/** Some clients leave out the terminator, so the list may end after any pair. */
function findAvPair(list: Buffer, wanted: number): Buffer | undefined {
  for (let at = 0; at + 4 <= list.length;) {
    const id = list.readUInt16LE(at)
    const end = at + 4 + list.readUInt16LE(at + 2)
    if (id === AV.end) return undefined
    if (end > list.length) throw new SecurityTokenError('NTLM: an AV pair exceeds its list')
    if (id === wanted) return list.subarray(at + 4, end)
    at = end
  }
  return undefined
}

function checkMessage(bytes: Buffer, type: number, lengthMin: number): void {
  if (!isNtlmMessage(bytes) || bytes.length < lengthMin || bytes.readUInt32LE(8) !== type) {
    throw new SecurityTokenError(`NTLM: not a message of type ${type}`)
  }
}

function readField(bytes: Buffer, at: number): Buffer {
  const length = bytes.readUInt16LE(at)
  const offset = bytes.readUInt32LE(at + 4)
  // The offset of an empty field means nothing, and some clients set it to arbitrary values.
  if (length === 0) return Buffer.alloc(0)
  if (offset + length > bytes.length)
    throw new SecurityTokenError('NTLM: a field exceeds the message')
  return bytes.subarray(offset, offset + length)
}

function readText(bytes: Buffer, at: number): string {
  const field = readField(bytes, at)
  if (field.length % 2 !== 0) throw new SecurityTokenError('NTLM: text of an odd length')
  return field.toString('utf16le')
}

function utf16(text: string): Buffer {
  return Buffer.from(text, 'utf16le')
}
