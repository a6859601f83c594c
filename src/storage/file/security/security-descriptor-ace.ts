// Access control entries and lists ([MS-DTYP] 2.4.4, 2.4.5) as plain values. Entries of unsupported kinds (conditional,
// claims, future ones) keep their bytes, so that clients read back what they stored.
import { StorageError } from '../../shared/error.ts'
import { decodeGuid, encodeGuid } from './security-descriptor-guid.ts'
import { decodeSid, encodeSid, sidLengthBytes } from './sid.ts'
import type { Sid } from './sid.ts'

/** [MS-DTYP] 2.4.4.1, AceType. */
export const ACE_TYPE = {
  allow: 0x00,
  deny: 0x01,
  audit: 0x02,
  alarm: 0x03,
  allowObject: 0x05,
  denyObject: 0x06,
  auditObject: 0x07,
  alarmObject: 0x08,
  allowCallback: 0x09,
  denyCallback: 0x0a,
  allowCallbackObject: 0x0b,
  denyCallbackObject: 0x0c,
  auditCallback: 0x0d,
  auditCallbackObject: 0x0f,
  mandatoryLabel: 0x11,
  resourceAttribute: 0x12,
  scopedPolicy: 0x13,
} as const

/** [MS-DTYP] 2.4.4.1, AceFlags. */
export const ACE_FLAG = {
  objectInherit: 0x01,
  containerInherit: 0x02,
  noPropagateInherit: 0x04,
  inheritOnly: 0x08,
  inherited: 0x10,
} as const

export type Ace = {
  readonly type: number
  readonly flags: number
  readonly mask: number
  readonly sid: Sid
  readonly objectType?: string
  readonly inheritedObjectType?: string
  /** The bytes after the SID: a condition or a claim. */
  readonly applicationBytes?: Uint8Array
}

/** An entry of unknown type; `body` is everything after its header. */
type OpaqueAce = {
  readonly type: number
  readonly flags: number
  readonly body: Uint8Array
}

export type AnyAce = Ace | OpaqueAce

const PLAIN_TYPES: ReadonlySet<number> = new Set([
  0, 1, 2, 3, 9, 0x0a, 0x0d, 0x0e, 0x11, 0x12, 0x13,
])
const OBJECT_TYPES: ReadonlySet<number> = new Set([5, 6, 7, 8, 0x0b, 0x0c, 0x0f, 0x10])
const OBJECT_TYPE_PRESENT = 1
const INHERITED_OBJECT_TYPE_PRESENT = 2

export function isOpaque(ace: AnyAce): ace is OpaqueAce {
  return 'body' in ace
}

/** Decodes the list at the start of `bytes`, ignoring the rest. */
export function decodeAcl(bytes: Uint8Array): readonly AnyAce[] {
  const { view, lengthBytes } = checkAcl(bytes)
  const aces: AnyAce[] = []
  let offset = 8
  for (let left = view.getUint16(4, true); left > 0; left -= 1) {
    if (offset + 4 > lengthBytes) throw new StorageError('FileInvalidPermission')
    const aceLengthBytes = view.getUint16(offset + 2, true)
    // "A multiple of 4" ([MS-DTYP] 2.4.4.1); another length would change when it is encoded again.
    const isWhole = aceLengthBytes >= 4 && aceLengthBytes % 4 === 0
    if (!isWhole || offset + aceLengthBytes > lengthBytes) {
      throw new StorageError('FileInvalidPermission')
    }
    aces.push(decodeAce(bytes.subarray(offset, offset + aceLengthBytes)))
    offset += aceLengthBytes
  }
  return aces
}

function checkAcl(bytes: Uint8Array): { view: DataView; lengthBytes: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 8) throw new StorageError('FileInvalidPermission')
  const [revision, lengthBytes] = [view.getUint8(0), view.getUint16(2, true)]
  if (revision < 2 || revision > 4 || lengthBytes < 8 || lengthBytes > bytes.length) {
    throw new StorageError('FileInvalidPermission')
  }
  return { view, lengthBytes }
}

export function encodeAcl(aces: readonly AnyAce[]): Uint8Array {
  const encoded = aces.map(encodeAce)
  const lengthBytes = encoded.reduce((sum, ace) => sum + ace.length, 8)
  if (lengthBytes > 0xffff) throw new StorageError('FileInvalidPermission')
  const bytes = new Uint8Array(lengthBytes)
  const view = new DataView(bytes.buffer)
  // [MS-DTYP] 2.4.5: revision 4 only if there is an object entry.
  view.setUint8(0, aces.some(({ type }) => OBJECT_TYPES.has(type)) ? 4 : 2)
  view.setUint16(2, lengthBytes, true)
  view.setUint16(4, aces.length, true)
  let offset = 8
  for (const ace of encoded) {
    bytes.set(ace, offset)
    offset += ace.length
  }
  return bytes
}

function decodeAce(bytes: Uint8Array): AnyAce {
  const [type = 0, flags = 0] = bytes
  const body = bytes.subarray(4)
  if (PLAIN_TYPES.has(type)) return { type, flags, ...decodePlainBody(body) }
  if (OBJECT_TYPES.has(type)) return { type, flags, ...decodeObjectBody(body) }
  return { type, flags, body: body.slice() }
}

type AceBody = Omit<Ace, 'type' | 'flags'>

function decodePlainBody(body: Uint8Array): AceBody {
  if (body.length < 12) throw new StorageError('FileInvalidPermission')
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  return { mask: view.getUint32(0, true), ...decodeTrustee(body.subarray(4)) }
}

function decodeObjectBody(body: Uint8Array): AceBody {
  if (body.length < 16) throw new StorageError('FileInvalidPermission')
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const present = view.getUint32(4, true)
  const hasType = (present & OBJECT_TYPE_PRESENT) !== 0
  const hasInherited = (present & INHERITED_OBJECT_TYPE_PRESENT) !== 0
  const sidOffset = 8 + (hasType ? 16 : 0) + (hasInherited ? 16 : 0)
  if (body.length < sidOffset + 8) throw new StorageError('FileInvalidPermission')
  return {
    mask: view.getUint32(0, true),
    ...(hasType ? { objectType: decodeGuid(body.subarray(8, 24)) } : {}),
    ...(hasInherited
      ? { inheritedObjectType: decodeGuid(body.subarray(sidOffset - 16, sidOffset)) }
      : {}),
    ...decodeTrustee(body.subarray(sidOffset)),
  }
}

function decodeTrustee(bytes: Uint8Array): Pick<Ace, 'sid' | 'applicationBytes'> {
  const sid = decodeSid(bytes)
  const rest = bytes.subarray(sidLengthBytes(sid))
  return rest.length === 0 ? { sid } : { sid, applicationBytes: rest.slice() }
}

function encodeAce(ace: AnyAce): Uint8Array {
  const body = isOpaque(ace) ? ace.body : encodeBody(ace)
  // [MS-DTYP] 2.4.4.1: a multiple of 4. Trailing zeros are not part of a condition.
  const bytes = new Uint8Array((4 + body.length + 3) & ~3)
  bytes[0] = ace.type
  bytes[1] = ace.flags
  if (bytes.length > 0xffff) throw new StorageError('FileInvalidPermission')
  new DataView(bytes.buffer).setUint16(2, bytes.length, true)
  bytes.set(body, 4)
  return bytes
}

function encodeBody(ace: Ace): Uint8Array {
  const mask = new Uint8Array(4)
  new DataView(mask.buffer).setUint32(0, ace.mask, true)
  const object = OBJECT_TYPES.has(ace.type) ? encodeObjectPart(ace) : new Uint8Array(0)
  const rest = ace.applicationBytes ?? new Uint8Array(0)
  return Buffer.concat([mask, object, encodeSid(ace.sid), rest])
}

function encodeObjectPart({ objectType, inheritedObjectType }: Ace): Uint8Array {
  const present = new Uint8Array(4)
  present[0] =
    (objectType === undefined ? 0 : OBJECT_TYPE_PRESENT) |
    (inheritedObjectType === undefined ? 0 : INHERITED_OBJECT_TYPE_PRESENT)
  const guids = [objectType, inheritedObjectType].filter((guid) => guid !== undefined)
  return Buffer.concat([present, ...guids.map(encodeGuid)])
}
