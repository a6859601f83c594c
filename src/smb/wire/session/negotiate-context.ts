// SMB 3.1.1 negotiate contexts, [MS-SMB2] 2.2.3.1 and 2.2.4.1: an 8-aligned list in any order. Unknown types are
// ignored. A type that the server uses must be valid and must not repeat.
import { alignTo, checkRoom, decodeText, decodeU16List, paddingTo } from '../body.ts'
import { WireError } from '../error.ts'

const NEGOTIATE_CONTEXT = {
  preauthIntegrity: 1,
  encryption: 2,
  compression: 3,
  netname: 5,
  transport: 6,
  rdmaTransform: 7,
  signing: 8,
} as const

export type NegotiateContext = { readonly type: number; readonly value: Buffer }

export type PreauthIntegrity = { readonly hashAlgorithms: readonly number[]; readonly salt: Buffer }

export type NegotiateContexts = {
  readonly preauthIntegrity: PreauthIntegrity
  /** undefined if the client sent no such context. Then the server sends none either. */
  readonly ciphers: readonly number[] | undefined
  readonly signingAlgorithms: readonly number[] | undefined
  readonly netname: string | undefined
}

export function decodeNegotiateContexts(list: Buffer, count: number): NegotiateContexts {
  const contexts = splitContexts(list, count)
  const preauthIntegrity = single(contexts, NEGOTIATE_CONTEXT.preauthIntegrity)
  // 3.3.5.4: without exactly one of these a 3.1.1 negotiation is refused.
  if (preauthIntegrity === undefined) throw new WireError('INVALID_PARAMETER')
  const encryption = single(contexts, NEGOTIATE_CONTEXT.encryption)
  const signing = single(contexts, NEGOTIATE_CONTEXT.signing)
  const netname = contexts.find(({ type }) => type === NEGOTIATE_CONTEXT.netname)
  return {
    preauthIntegrity: decodePreauthIntegrity(preauthIntegrity),
    ciphers: encryption && decodeAlgorithms(encryption),
    signingAlgorithms: signing && decodeAlgorithms(signing),
    netname: netname && decodeText(netname.value),
  }
}

function splitContexts(list: Buffer, count: number): readonly NegotiateContext[] {
  const contexts: NegotiateContext[] = []
  let at = 0
  while (contexts.length < count) {
    checkRoom(list, at + 8)
    const end = at + 8 + list.readUInt16LE(at + 2)
    checkRoom(list, end)
    contexts.push({ type: list.readUInt16LE(at), value: list.subarray(at + 8, end) })
    at = alignTo(end, 8)
  }
  return contexts
}

function single(contexts: readonly NegotiateContext[], type: number): Buffer | undefined {
  const found = contexts.filter((context) => context.type === type)
  if (found.length > 1) throw new WireError('INVALID_PARAMETER')
  return found[0]?.value
}

function decodePreauthIntegrity(value: Buffer): PreauthIntegrity {
  checkRoom(value, 4)
  const count = value.readUInt16LE(0)
  const saltBytes = value.readUInt16LE(2)
  if (count === 0) throw new WireError('INVALID_PARAMETER')
  const hashAlgorithms = decodeU16List(value, 4, count)
  const saltAt = 4 + 2 * count
  checkRoom(value, saltAt + saltBytes)
  return { hashAlgorithms, salt: value.subarray(saltAt, saltAt + saltBytes) }
}

function decodeAlgorithms(value: Buffer): readonly number[] {
  checkRoom(value, 2)
  const count = value.readUInt16LE(0)
  if (count === 0) throw new WireError('INVALID_PARAMETER')
  return decodeU16List(value, 2, count)
}

export function encodePreauthContext(hashAlgorithm: number, salt: Buffer): NegotiateContext {
  const value = Buffer.alloc(6 + salt.length)
  value.writeUInt16LE(1, 0)
  value.writeUInt16LE(salt.length, 2)
  value.writeUInt16LE(hashAlgorithm, 4)
  salt.copy(value, 6)
  return { type: NEGOTIATE_CONTEXT.preauthIntegrity, value }
}

/** The cipher that the server chose; 0 if there is none in common. */
export function encodeEncryptionContext(cipher: number): NegotiateContext {
  return { type: NEGOTIATE_CONTEXT.encryption, value: oneAlgorithm(cipher) }
}

export function encodeSigningContext(signingAlgorithm: number): NegotiateContext {
  return { type: NEGOTIATE_CONTEXT.signing, value: oneAlgorithm(signingAlgorithm) }
}

function oneAlgorithm(algorithm: number): Buffer {
  const value = Buffer.alloc(4)
  value.writeUInt16LE(1, 0)
  value.writeUInt16LE(algorithm, 2)
  return value
}

export function encodeNegotiateContexts(contexts: readonly NegotiateContext[]): Buffer {
  const pieces = contexts.flatMap(({ type, value }, index) => {
    const head = Buffer.alloc(8)
    head.writeUInt16LE(type, 0)
    head.writeUInt16LE(value.length, 2)
    const isLast = index === contexts.length - 1
    return isLast ? [head, value] : [head, value, paddingTo(value.length, 8)]
  })
  return Buffer.concat(pieces)
}
