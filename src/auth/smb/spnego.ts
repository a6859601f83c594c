// The tokens of SPNEGO (RFC 4178, [MS-SPNG]), with which client and server agree on a mechanism; smb-login.ts
// answers them. Object identifiers are the hex of their DER content, since they are only compared.
import {
  contextTag,
  DER_TAG,
  encodeDer,
  readDerAs,
  readDerChildren,
  type DerElement,
} from './der.ts'
import { SecurityTokenError } from './security-token-error.ts'

export const MECHANISM = {
  /** 1.3.6.1.4.1.311.2.2.10 */
  ntlmssp: '2b06010401823702020a',
  /** 1.2.840.113554.1.2.2 */
  kerberos: '2a864886f712010202',
  /** 1.2.840.48018.1.2.2, a mistake of early Windows versions that Windows still offers. */
  msKerberos: '2a864882f712010202',
} as const

export const NEG_STATE = {
  acceptCompleted: 0,
  acceptIncomplete: 1,
  reject: 2,
  requestMic: 3,
} as const

export type NegTokenInit = {
  readonly kind: 'init'
  /** In the client's order of preference; `mechToken` belongs to the first. */
  readonly mechTypes: readonly string[]
  /** The SEQUENCE of mechTypes exactly as sent; the mechListMIC protects it. */
  readonly mechTypeList: Buffer
  readonly mechToken: Buffer | undefined
  readonly mechListMic: Buffer | undefined
}

export type NegTokenResp = {
  readonly kind: 'response'
  readonly negState: number | undefined
  readonly supportedMech: string | undefined
  readonly responseToken: Buffer | undefined
  readonly mechListMic: Buffer | undefined
}

/** 1.3.6.1.5.5.2 */
const SPNEGO_OID = Buffer.from('2b0601050502', 'hex')
/** [MS-SPNG] 2.2.1: the fixed text of NegHints. */
const HINT_NAME = Buffer.from('not_defined_in_RFC4178@please_ignore', 'latin1')

export function decodeSpnego(bytes: Buffer): NegTokenInit | NegTokenResp {
  if (bytes[0] === DER_TAG.application0) return decodeNegTokenInit(bytes)
  if (bytes[0] === contextTag(1)) return decodeNegTokenResp(bytes)
  throw new SecurityTokenError('SPNEGO: neither a NegTokenInit nor a NegTokenResp')
}

/** NegTokenInit and NegTokenInit2, which has hints in [3] and its mechListMIC in [4]. */
function decodeNegTokenInit(bytes: Buffer): NegTokenInit {
  const [oid, inner] = readDerChildren(readDerAs(bytes, DER_TAG.application0).content)
  if (oid?.tag !== DER_TAG.objectIdentifier || !oid.content.equals(SPNEGO_OID)) {
    throw new SecurityTokenError('SPNEGO: another GSS-API mechanism')
  }
  if (inner?.tag !== contextTag(0)) throw new SecurityTokenError('SPNEGO: no NegTokenInit')
  const field = fieldsOf(inner.content)
  const list = field(0)
  if (list === undefined) throw new SecurityTokenError('SPNEGO: no mechTypes')
  const mechTypes = readDerAs(list, DER_TAG.sequence)
  const hasHints = field(3)?.[0] === DER_TAG.sequence
  return {
    kind: 'init',
    mechTypes: readDerChildren(mechTypes.content).map(objectIdentifier),
    mechTypeList: mechTypes.whole,
    mechToken: octets(field(2)),
    mechListMic: octets(field(hasHints ? 4 : 3)),
  }
}

function decodeNegTokenResp(bytes: Buffer): NegTokenResp {
  const field = fieldsOf(readDerAs(bytes, contextTag(1)).content)
  const [negState, supportedMech] = [field(0), field(1)]
  return {
    kind: 'response',
    negState: negState && readDerAs(negState, DER_TAG.enumerated).content[0],
    supportedMech:
      supportedMech && objectIdentifier(readDerAs(supportedMech, DER_TAG.objectIdentifier)),
    responseToken: octets(field(2)),
    mechListMic: octets(field(3)),
  }
}

/** The content of each [n] in a SEQUENCE, by n. */
function fieldsOf(bytes: Buffer): (number: number) => Buffer | undefined {
  const children = readDerChildren(readDerAs(bytes, DER_TAG.sequence).content)
  return (number) => children.find(({ tag }) => tag === contextTag(number))?.content
}

function octets(field: Buffer | undefined): Buffer | undefined {
  return field && readDerAs(field, DER_TAG.octetString).content
}

function objectIdentifier({ tag, content }: DerElement): string {
  if (tag !== DER_TAG.objectIdentifier) throw new SecurityTokenError('SPNEGO: not a mechanism')
  return content.toString('hex')
}

/** The security buffer of a NEGOTIATE response: the mechanisms of the server, the preferred one first. */
export function encodeNegTokenInit2(mechTypes: readonly string[]): Buffer {
  const hint = encodeDer(contextTag(0), encodeDer(DER_TAG.generalString, HINT_NAME))
  const list = encodeDer(DER_TAG.sequence, ...mechTypes.map(encodeMechanism))
  const inner = encodeDer(
    DER_TAG.sequence,
    encodeDer(contextTag(0), list),
    encodeDer(contextTag(3), encodeDer(DER_TAG.sequence, hint)),
  )
  const oid = encodeDer(DER_TAG.objectIdentifier, SPNEGO_OID)
  return encodeDer(DER_TAG.application0, oid, encodeDer(contextTag(0), inner))
}

export function encodeNegTokenResp(token: {
  readonly negState: number
  readonly supportedMech?: string | undefined
  readonly responseToken?: Uint8Array | undefined
  readonly mechListMic?: Uint8Array | undefined
}): Buffer {
  const { negState, supportedMech, responseToken, mechListMic } = token
  const fields: readonly (Buffer | undefined)[] = [
    encodeDer(DER_TAG.enumerated, Buffer.of(negState)),
    supportedMech === undefined ? undefined : encodeMechanism(supportedMech),
    responseToken && encodeDer(DER_TAG.octetString, responseToken),
    mechListMic && encodeDer(DER_TAG.octetString, mechListMic),
  ]
  const present = fields.flatMap((field, number) =>
    field === undefined ? [] : [encodeDer(contextTag(number), field)],
  )
  return encodeDer(contextTag(1), encodeDer(DER_TAG.sequence, ...present))
}

function encodeMechanism(mechanism: string): Buffer {
  return encodeDer(DER_TAG.objectIdentifier, Buffer.from(mechanism, 'hex'))
}
