// Security descriptors ([MS-DTYP] 2.4.6) as plain values, and their self-relative encoding: SMB sends it, REST calls it
// the Binary format (in base64), and a share's permission store holds it. The encoding is canonical, so equal
// permissions have equal bytes and the same permission key.
import { createHash } from 'node:crypto'
import { StorageError } from '../../shared/error.ts'
import { decodeAcl, encodeAcl } from './security-descriptor-ace.ts'
import type { AnyAce } from './security-descriptor-ace.ts'
import { decodeSid, encodeSid } from './sid.ts'
import type { Sid } from './sid.ts'

/** [MS-DTYP] 2.4.6, Control. */
export const CONTROL = {
  ownerDefaulted: 0x0001,
  groupDefaulted: 0x0002,
  daclPresent: 0x0004,
  daclDefaulted: 0x0008,
  saclPresent: 0x0010,
  saclDefaulted: 0x0020,
  daclTrusted: 0x0040,
  serverSecurity: 0x0080,
  daclAutoInheritRequired: 0x0100,
  saclAutoInheritRequired: 0x0200,
  daclAutoInherited: 0x0400,
  saclAutoInherited: 0x0800,
  daclProtected: 0x1000,
  saclProtected: 0x2000,
  resourceControlValid: 0x4000,
  selfRelative: 0x8000,
} as const

/** A list that is present (by `control`) but undefined is NULL and allows everything. An empty list allows nothing. */
export type SecurityDescriptor = {
  readonly control: number
  readonly owner: Sid | undefined
  readonly group: Sid | undefined
  readonly sacl: readonly AnyAce[] | undefined
  readonly dacl: readonly AnyAce[] | undefined
}

const DESCRIPTOR_BYTES_MAX = 64 * 1024
const HEADER_BYTES = 20

export function decodeSecurityDescriptor(bytes: Uint8Array): SecurityDescriptor {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < HEADER_BYTES || bytes.length > DESCRIPTOR_BYTES_MAX || bytes[0] !== 1) {
    throw new StorageError('FileInvalidPermission')
  }
  const control = view.getUint16(2, true)
  if ((control & CONTROL.selfRelative) === 0) throw new StorageError('FileInvalidPermission')
  const part = <T>(field: number, decode: (bytes: Uint8Array) => T): T | undefined => {
    const offset = view.getUint32(field, true)
    if (offset === 0) return undefined
    if (offset < HEADER_BYTES || offset > bytes.length) {
      throw new StorageError('FileInvalidPermission')
    }
    return decode(bytes.subarray(offset))
  }
  return {
    // The resource manager's byte is not stored, so its flag is cleared.
    control: control & ~CONTROL.resourceControlValid,
    owner: part(4, decodeSid),
    group: part(8, decodeSid),
    sacl: (control & CONTROL.saclPresent) === 0 ? undefined : part(12, decodeAcl),
    dacl: (control & CONTROL.daclPresent) === 0 ? undefined : part(16, decodeAcl),
  }
}

/** In the order that Windows and the service use: SACL, DACL, owner, group. */
export function encodeSecurityDescriptor(descriptor: SecurityDescriptor): Uint8Array {
  const { owner, group, sacl, dacl } = descriptor
  const parts: readonly (readonly [field: number, bytes: Uint8Array | undefined])[] = [
    [12, sacl === undefined ? undefined : encodeAcl(sacl)],
    [16, dacl === undefined ? undefined : encodeAcl(dacl)],
    [4, owner === undefined ? undefined : encodeSid(owner)],
    [8, group === undefined ? undefined : encodeSid(group)],
  ]
  const lengthBytes = parts.reduce((sum, [, part]) => sum + (part?.length ?? 0), HEADER_BYTES)
  if (lengthBytes > DESCRIPTOR_BYTES_MAX) throw new StorageError('FileInvalidPermission')
  const bytes = new Uint8Array(lengthBytes)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, 1)
  view.setUint16(2, controlOf(descriptor), true)
  let offset = HEADER_BYTES
  for (const [field, part] of parts) {
    if (part === undefined) continue
    view.setUint32(field, offset, true)
    bytes.set(part, offset)
    offset += part.length
  }
  return bytes
}

function controlOf({ control, sacl, dacl }: SecurityDescriptor): number {
  return (
    CONTROL.selfRelative |
    (control & ~CONTROL.resourceControlValid) |
    (sacl === undefined ? 0 : CONTROL.saclPresent) |
    (dacl === undefined ? 0 : CONTROL.daclPresent)
  )
}

/** A permission of a share must have an owner, a group and a DACL; descriptors from SMB may lack some. */
export function checkPermission({ control, owner, group, dacl }: SecurityDescriptor): void {
  const hasDacl = dacl !== undefined || (control & CONTROL.daclPresent) !== 0
  if (owner === undefined || group === undefined || !hasDacl) {
    throw new StorageError('FileInvalidPermission')
  }
}

/** `a*b`, the format of the service's keys; the same for all encodings of a descriptor. */
export function permissionKeyOf(descriptorBytes: Uint8Array): string {
  const canonical = encodeSecurityDescriptor(decodeSecurityDescriptor(descriptorBytes))
  const hash = createHash('sha256').update(canonical).digest()
  return `${hash.readBigUInt64BE(0)}*${hash.readBigUInt64BE(8)}`
}
