// Sections of a security descriptor, selected by SMB's AdditionalInformation ([MS-SMB2] 2.2.37, 2.2.39): a query returns
// some, a set replaces some. A section is a field and its control flags.
import { mapGenericRights } from './access-check.ts'
import { ACE_FLAG, isOpaque, type AnyAce } from './security-descriptor-ace.ts'
import { CONTROL } from './security-descriptor.ts'
import type { SecurityDescriptor } from './security-descriptor.ts'

export const SECTION = { owner: 1, group: 2, dacl: 4, sacl: 8 } as const

const OWNER_CONTROL = CONTROL.ownerDefaulted
const GROUP_CONTROL = CONTROL.groupDefaulted
const DACL_CONTROL =
  CONTROL.daclPresent |
  CONTROL.daclDefaulted |
  CONTROL.daclTrusted |
  CONTROL.daclAutoInheritRequired |
  CONTROL.daclAutoInherited |
  CONTROL.daclProtected
const SACL_CONTROL =
  CONTROL.saclPresent |
  CONTROL.saclDefaulted |
  CONTROL.saclAutoInheritRequired |
  CONTROL.saclAutoInherited |
  CONTROL.saclProtected

export function selectDescriptor(
  descriptor: SecurityDescriptor,
  sections: number,
): SecurityDescriptor {
  const has = (section: number) => (sections & section) !== 0
  return {
    control: CONTROL.selfRelative | (descriptor.control & controlOf(sections)),
    owner: has(SECTION.owner) ? descriptor.owner : undefined,
    group: has(SECTION.group) ? descriptor.group : undefined,
    sacl: has(SECTION.sacl) ? descriptor.sacl : undefined,
    dacl: has(SECTION.dacl) ? descriptor.dacl : undefined,
  }
}

/** A requested section that `next` lacks does not change. */
export function mergeDescriptor(
  old: SecurityDescriptor,
  next: SecurityDescriptor,
  sections: number,
): SecurityDescriptor {
  const taken = sections & presentSections(next)
  const has = (section: number) => (taken & section) !== 0
  const replaced = controlOf(taken)
  return {
    control:
      CONTROL.selfRelative |
      (old.control & ~replaced) |
      (settleAutoInherit(next.control) & replaced),
    owner: has(SECTION.owner) ? next.owner : old.owner,
    group: has(SECTION.group) ? next.group : old.group,
    sacl: has(SECTION.sacl) ? next.sacl : old.sacl,
    dacl: has(SECTION.dacl) ? next.dacl?.map(settleRights) : old.dacl,
  }
}

function presentSections({ control, owner, group }: SecurityDescriptor): number {
  return (
    (owner === undefined ? 0 : SECTION.owner) |
    (group === undefined ? 0 : SECTION.group) |
    ((control & CONTROL.daclPresent) === 0 ? 0 : SECTION.dacl) |
    ((control & CONTROL.saclPresent) === 0 ? 0 : SECTION.sacl)
  )
}

/** [MS-DTYP] 2.5.3.4.2: a list is stored as auto-inherited only if the client also set the "required" flag. */
function settleAutoInherit(control: number): number {
  const required = CONTROL.daclAutoInheritRequired | CONTROL.saclAutoInheritRequired
  // Each "inherited" flag is two bits above its "required" flag.
  const settled = (control & required) << 2
  const inherited = CONTROL.daclAutoInherited | CONTROL.saclAutoInherited
  return (control & ~required & ~inherited) | (control & inherited & settled)
}

/** [MS-DTYP] 2.5.3.4.7: effective entries are stored with file rights; inherit-only entries keep generic rights. */
function settleRights(ace: AnyAce): AnyAce {
  if (isOpaque(ace) || (ace.flags & ACE_FLAG.inheritOnly) !== 0) return ace
  return { ...ace, mask: mapGenericRights(ace.mask) }
}

function controlOf(sections: number): number {
  return (
    ((sections & SECTION.owner) === 0 ? 0 : OWNER_CONTROL) |
    ((sections & SECTION.group) === 0 ? 0 : GROUP_CONTROL) |
    ((sections & SECTION.dacl) === 0 ? 0 : DACL_CONTROL) |
    ((sections & SECTION.sacl) === 0 ? 0 : SACL_CONTROL)
  )
}
