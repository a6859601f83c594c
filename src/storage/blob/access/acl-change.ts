// Changes of access control: a new path's, which depends on its parent, and those of Set Access Control and its recursive
// forms.
import {
  accessEntries,
  canonicalAcl,
  defaultEntries,
  isSameEntry,
  type AccessControl,
  type Acl,
  type AclEntry,
} from './acl.ts'
import type { AclEntryName } from './acl-text.ts'
import {
  aclOfMode,
  DIRECTORY_MODE,
  FILE_MODE,
  ROOT_MODE,
  UMASK_BITS,
  withBits,
  withMode,
  type Mode,
} from './permissions.ts'

/** What a client says about access control when it creates a path. */
export type NewAccess = {
  /** By default, whoever creates the path. */
  readonly owner?: string | undefined
  /** By default, the group of the parent. */
  readonly group?: string | undefined
  readonly mode?: Mode | undefined
  readonly umaskBits?: number | undefined
  /** Instead of all that. */
  readonly acl?: Acl | undefined
}

export function rootAccess(owner: string, group: string = owner): AccessControl {
  return { owner, group, isSticky: false, acl: aclOfMode(ROOT_MODE) }
}

/**
 * A new path has the default list of its parent as far as the mode allows, and the umask does not count. Without
 * a default list it has the mode, less the umask.
 */
export function createdAccess(
  parent: AccessControl,
  creator: string,
  {
    isDirectory,
    owner,
    group,
    mode,
    umaskBits,
    acl,
  }: NewAccess & { readonly isDirectory: boolean },
): AccessControl {
  const wanted = mode ?? (isDirectory ? DIRECTORY_MODE : FILE_MODE)
  const inherited = defaultEntries(parent.acl)
  const ids = { owner: owner ?? creator, group: group ?? parent.group, isSticky: wanted.isSticky }
  if (acl !== undefined) return { ...ids, acl: isDirectory ? acl : accessEntries(acl) }
  if (inherited.length === 0) {
    return { ...ids, acl: aclOfMode({ bits: wanted.bits & ~(umaskBits ?? UMASK_BITS) }) }
  }
  const access = inherited.map((entry) => ({ ...entry, isDefault: false }))
  const limited = withBits(access, (bits) => bits & wanted.bits)
  return { ...ids, acl: isDirectory ? [...limited, ...inherited] : limited }
}

export type AccessChange = {
  readonly owner?: string | undefined
  readonly group?: string | undefined
  readonly mode?: Mode | undefined
  readonly acl?: Acl | undefined
}

/** Set Access Control. */
export function changedAccess(control: AccessControl, change: AccessChange): AccessControl {
  const { owner = control.owner, group = control.group, mode, acl = control.acl } = change
  const changed = { ...control, owner, group, acl }
  return mode === undefined ? changed : withMode(changed, mode)
}

/** One change for many paths. Files take no default entries. */
export type RecursiveChange =
  | { readonly mode: 'set'; readonly acl: Acl }
  | { readonly mode: 'modify'; readonly entries: readonly AclEntry[] }
  | { readonly mode: 'remove'; readonly names: readonly AclEntryName[] }

export function recursivelyChanged(
  control: AccessControl,
  change: RecursiveChange,
  isDirectory: boolean,
): AccessControl {
  const acl = changedAcl(control.acl, change)
  return { ...control, acl: isDirectory ? acl : accessEntries(acl) }
}

function changedAcl(acl: Acl, change: RecursiveChange): Acl {
  if (change.mode === 'set') return change.acl
  return change.mode === 'modify'
    ? modifiedAcl(acl, change.entries)
    : removedFrom(acl, change.names)
}

/** A mask that is not given covers all entries again, as after setfacl -m. */
function modifiedAcl(acl: Acl, entries: readonly AclEntry[]): Acl {
  const kept = acl.filter((entry) => !entries.some((added) => isSameEntry(added, entry)))
  return canonicalAcl([...withoutStaleMasks(kept, entries), ...entries])
}

function removedFrom(acl: Acl, names: readonly AclEntryName[]): Acl {
  const kept = acl.filter((entry) => !names.some((name) => isSameEntry(name, entry)))
  const unmasked = withoutStaleMasks(kept, names)
  const isNothing = defaultEntries(unmasked).length === 0
  return canonicalAcl(isNothing ? accessEntries(unmasked) : unmasked)
}

/** Masks of the lists that change; canonicalAcl makes new ones where they are needed. */
function withoutStaleMasks(acl: Acl, changed: readonly AclEntryName[]): Acl {
  return acl.filter(
    ({ type, isDefault }) =>
      type !== 'mask' || !changed.some((entry) => entry.isDefault === isDefault),
  )
}
