// Access control of a path, as in POSIX.1e draft 17: an owner, an owning group, and lists of entries. The access list
// decides about the path itself; the default list of a directory is what new children begin with
// (https://learn.microsoft.com/azure/storage/blobs/data-lake-storage-access-control).
import { StorageError } from '../../shared/error.ts'

/** Bits of the permissions of one entry. */
export const READ = 4
export const WRITE = 2
export const EXECUTE = 1

export type AclEntryType = 'user' | 'group' | 'mask' | 'other'

export type AclEntry = {
  readonly isDefault: boolean
  readonly type: AclEntryType
  /** The object id of a named user or group; empty for the owner, the owning group, the mask and others. */
  readonly id: string
  /** READ, WRITE and EXECUTE. */
  readonly permissions: number
}

/** Complete and in canonical order: see `canonicalAcl`. */
export type Acl = readonly AclEntry[]

export type AccessControl = {
  readonly owner: string
  readonly group: string
  /** In a sticky directory, only the owners of a child and of the directory may remove or rename the child. */
  readonly isSticky: boolean
  readonly acl: Acl
}

/** The owner and group of whatever is created with an account key, an account SAS or a service SAS. */
export const SUPERUSER = '$superuser'

/** Of each list: access and default. */
export const ACL_ENTRY_COUNT_MAX = 32

const TYPES: readonly AclEntryType[] = ['user', 'group', 'mask', 'other']

/** Object ids are GUIDs, which are compared in any case. */
export function isSameId(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase()
}

export function isSameEntry(a: Omit<AclEntry, 'permissions'>, b: Omit<AclEntry, 'permissions'>) {
  return a.isDefault === b.isDefault && a.type === b.type && isSameId(a.id, b.id)
}

/** The permissions of the entry; undefined if there is none. */
export function permissionsOf(
  acl: Acl,
  type: AclEntryType,
  { isDefault = false, id = '' }: { readonly isDefault?: boolean; readonly id?: string } = {},
): number | undefined {
  return acl.find((entry) => isSameEntry(entry, { isDefault, type, id }))?.permissions
}

export function accessEntries(acl: Acl): Acl {
  return acl.filter(({ isDefault }) => !isDefault)
}

export function defaultEntries(acl: Acl): Acl {
  return acl.filter(({ isDefault }) => isDefault)
}

/** The access list has more than owner, owning group and others. */
export function isExtended(acl: Acl): boolean {
  return acl.some(({ isDefault, type, id }) => !isDefault && (id !== '' || type === 'mask'))
}

/**
 * The list in the order of the service, with the entries that it must have. A list with named entries gets a mask that
 * restricts none of them, and a default list the missing ones of owner, group and others from the access list, both as
 * setfacl does.
 */
export function canonicalAcl(entries: Acl): Acl {
  const access = sorted(withMask(accessEntries(entries)))
  if (['user', 'group', 'other'].some((type) => !hasBase(access, type))) throw invalidAcl()
  const defaults = sorted(withMask(withBase(defaultEntries(entries), access)))
  if (Math.max(access.length, defaults.length) > ACL_ENTRY_COUNT_MAX) throw invalidAcl()
  return [...access, ...defaults]
}

/** Only directories have children that could begin with a default list. */
export function checkAclOfFile(acl: Acl): void {
  if (defaultEntries(acl).length > 0) throw new StorageError('DefaultAclOnFileNotAllowed')
}

export function invalidAcl(): StorageError {
  return new StorageError('InvaldAccessControlList')
}

function hasBase(entries: Acl, type: string): boolean {
  return entries.some((entry) => entry.type === type && entry.id === '')
}

function withMask(entries: Acl): Acl {
  const named = entries.filter(({ id }) => id !== '')
  const isMasked = hasBase(entries, 'mask')
  const [first] = named
  if (isMasked || first === undefined) return entries
  const group = entries.find(({ type, id }) => type === 'group' && id === '')?.permissions ?? 0
  const permissions = named.reduce((all, entry) => all | entry.permissions, group)
  return [...entries, { isDefault: first.isDefault, type: 'mask', id: '', permissions }]
}

function withBase(defaults: Acl, access: Acl): Acl {
  if (defaults.length === 0) return defaults
  const missing = access.filter(
    ({ type, id }) => id === '' && type !== 'mask' && !hasBase(defaults, type),
  )
  return [...defaults, ...missing.map((entry) => ({ ...entry, isDefault: true }))]
}

/** Owner, named users, owning group, named groups, mask, others. Named ones keep their order. */
function sorted(entries: Acl): Acl {
  const rank = ({ type, id }: AclEntry): number => TYPES.indexOf(type) * 2 + Number(id !== '')
  return entries.toSorted((a, b) => rank(a) - rank(b))
}
