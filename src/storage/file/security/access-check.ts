// The access check of a descriptor ([MS-DTYP] 2.5.3.2). Callers skip it for the holder of the account key.
import { ACE_FLAG, ACE_TYPE, isOpaque } from './security-descriptor-ace.ts'
import type { Ace, AnyAce } from './security-descriptor-ace.ts'
import type { SecurityDescriptor } from './security-descriptor.ts'
import { SID_OWNER_RIGHTS } from './sid.ts'
import type { Sid } from './sid.ts'

/** [MS-DTYP] 2.4.3, ACCESS_MASK. */
export const ACCESS = {
  readControl: 0x00020000,
  writeDacl: 0x00040000,
  systemSecurity: 0x01000000,
  maximumAllowed: 0x02000000,
  all: 0x001f01ff,
} as const

/** Generic rights and the file rights that they stand for ([MS-SMB2] 2.2.13.1). */
const GENERIC_RIGHTS: readonly (readonly [generic: number, rights: number])[] = [
  [0x80000000, 0x00120089],
  [0x40000000, 0x00120116],
  [0x20000000, 0x001200a0],
  [0x10000000, 0x001f01ff],
]

export function mapGenericRights(mask: number): number {
  const rights = GENERIC_RIGHTS.filter(([generic]) => (mask & generic) !== 0)
  return rights.reduce((bits, [, own]) => bits | own, mask & 0x0fffffff) >>> 0
}

/**
 * The rights granted to `sids` (the user and all its groups): `desiredAccess`, or 0 if one of the desired rights is not
 * granted. With MAXIMUM_ALLOWED, all rights that can be granted. A DACL never grants auditing rights.
 */
export function accessAllowed(
  descriptor: SecurityDescriptor,
  sids: ReadonlySet<Sid>,
  desiredAccess: number,
): number {
  const desired = mapGenericRights(desiredAccess)
  const granted = grantedRights(descriptor, sids)
  const named = desired & ~ACCESS.maximumAllowed
  if ((named & ~granted) !== 0) return 0
  return ((desired & ACCESS.maximumAllowed) === 0 ? named : granted) >>> 0
}

function grantedRights(descriptor: SecurityDescriptor, sids: ReadonlySet<Sid>): number {
  if (descriptor.dacl === undefined) return ACCESS.all // Without a list, or with NULL, everything is allowed.
  const isOwner = descriptor.owner !== undefined && sids.has(descriptor.owner)
  const dacl = descriptor.dacl.filter(isEffective)
  const hasOwnerRights = dacl.some(({ sid }) => sid === SID_OWNER_RIGHTS)
  const implied = isOwner && !hasOwnerRights ? ACCESS.readControl | ACCESS.writeDacl : 0
  let [granted, denied] = [implied, 0]
  for (const ace of dacl) {
    if (!sids.has(ace.sid) && !(isOwner && ace.sid === SID_OWNER_RIGHTS)) continue
    const rights = mapGenericRights(ace.mask)
    if (isAllow(ace)) granted |= rights & ~denied
    if (isDeny(ace)) denied |= rights & ~granted
  }
  return granted
}

function isEffective(ace: AnyAce): ace is Ace {
  return !isOpaque(ace) && (ace.flags & ACE_FLAG.inheritOnly) === 0
}

// An entry for a part of an object, or with a condition, which we don't evaluate, grants nothing but still denies:
// [MS-DTYP] 2.4.4.17.1 counts "unknown" only for denials.
function isAllow({ type, objectType }: Ace): boolean {
  return type === ACE_TYPE.allow || (type === ACE_TYPE.allowObject && objectType === undefined)
}

const DENY_TYPES: ReadonlySet<number> = new Set([
  ACE_TYPE.deny,
  ACE_TYPE.denyObject,
  ACE_TYPE.denyCallback,
  ACE_TYPE.denyCallbackObject,
])

function isDeny({ type }: Ace): boolean {
  return DENY_TYPES.has(type)
}
