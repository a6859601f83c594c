// The descriptor of a new file or directory: inheritable entries of its directory ([MS-DTYP] 2.5.3.4). The root of a new
// share has the documented descriptor; what it passes on matches what the service gives to the first file and
// directory.
import { mapGenericRights } from './access-check.ts'
import { ACE_FLAG, ACE_TYPE, isOpaque } from './security-descriptor-ace.ts'
import type { Ace, AnyAce } from './security-descriptor-ace.ts'
import { CONTROL } from './security-descriptor.ts'
import type { SecurityDescriptor } from './security-descriptor.ts'
import { parseDescriptorText } from './sddl.ts'
import { SID_CREATOR_GROUP, SID_CREATOR_OWNER, SID_SYSTEM } from './sid.ts'
import type { Sid } from './sid.ts'

export type Creator = { readonly owner: Sid; readonly group: Sid }

/** The holder of the account key, over REST or SMB, acts as SYSTEM. */
export const SYSTEM_CREATOR: Creator = { owner: SID_SYSTEM, group: SID_SYSTEM }

const { objectInherit, containerInherit, noPropagateInherit, inheritOnly } = ACE_FLAG
const INHERIT_FLAGS = objectInherit | containerInherit | noPropagateInherit | inheritOnly

export function inheritDescriptor(
  parent: SecurityDescriptor,
  isDirectory: boolean,
  creator: Creator = SYSTEM_CREATOR,
): SecurityDescriptor {
  const child = { isDirectory, creator }
  const dacl = inheritAcl(parent.dacl, child, parent.control & CONTROL.daclAutoInherited)
  const sacl = inheritAcl(parent.sacl, child, parent.control & CONTROL.saclAutoInherited)
  const inherited = CONTROL.daclAutoInherited | CONTROL.saclAutoInherited
  return {
    // As in Windows, children are marked as auto-inherited only if the directory is.
    control:
      CONTROL.selfRelative |
      CONTROL.daclPresent |
      (parent.control & inherited) |
      (sacl.length === 0 ? 0 : CONTROL.saclPresent),
    owner: creator.owner,
    group: creator.group,
    sacl: sacl.length === 0 ? undefined : sacl,
    dacl: dacl.length === 0 ? defaultDacl(creator) : dacl,
  }
}

/** [MS-DTYP] 2.5.3.4.1: the creator's default, if there is nothing to inherit. */
function defaultDacl({ owner }: Creator): readonly Ace[] {
  const sids = [...new Set([owner, SID_SYSTEM])]
  return sids.map((sid) => ({ type: ACE_TYPE.allow, flags: 0, mask: 0x1f01ff, sid }))
}

type Child = { readonly isDirectory: boolean; readonly creator: Creator }

function inheritAcl(
  aces: readonly AnyAce[] | undefined,
  child: Child,
  autoInherited: number,
): readonly AnyAce[] {
  const mark = autoInherited === 0 ? 0 : ACE_FLAG.inherited
  return (aces ?? []).flatMap((ace) =>
    inheritAce(ace, child).map((own) => ({
      ...own,
      flags: (own.flags & ~ACE_FLAG.inherited) | mark,
    })),
  )
}

function inheritAce(ace: AnyAce, { isDirectory, creator }: Child): readonly AnyAce[] {
  const applies = (ace.flags & (isDirectory ? containerInherit : objectInherit)) !== 0
  const propagates = isDirectory && (ace.flags & noPropagateInherit) === 0
  const passed = { ...ace, flags: ace.flags | inheritOnly }
  if (!applies) return propagates && (ace.flags & objectInherit) !== 0 ? [passed] : []
  const effective = effectiveAce(ace, creator)
  if (effective === undefined) return propagates ? [passed] : []
  if (!propagates) return [{ ...effective, flags: ace.flags & ~INHERIT_FLAGS }]
  // One entry serves both purposes, unless the effective entry differs from the inheritable one.
  if (isSame(effective, ace)) return [{ ...ace, flags: ace.flags & ~inheritOnly }]
  return [{ ...effective, flags: ace.flags & ~INHERIT_FLAGS }, passed]
}

/** Replaces generic rights with file rights, and CREATOR OWNER and CREATOR GROUP with the creator. */
function effectiveAce(ace: AnyAce, { owner, group }: Creator): AnyAce | undefined {
  if (isOpaque(ace)) return ace
  if (ace.inheritedObjectType !== undefined) return undefined
  const named = new Map([
    [SID_CREATOR_OWNER, owner],
    [SID_CREATOR_GROUP, group],
  ])
  return { ...ace, mask: mapGenericRights(ace.mask), sid: named.get(ace.sid) ?? ace.sid }
}

function isSame(a: AnyAce, b: AnyAce): boolean {
  return isOpaque(a) || isOpaque(b) || (a.mask === b.mask && a.sid === b.sid)
}

/** The root of a new share. */
export const DEFAULT_ROOT_DESCRIPTOR: SecurityDescriptor = parseDescriptorText(
  'O:SYG:SYD:(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)' +
    '(A;OICI;0x1301bf;;;AU)(A;;FA;;;SY)(A;OICIIO;GA;;;CO)',
)
