// Access control lists as text: `user::rwx,user:{id}:r-x,group::r-x,mask::r-x,other::---,default:user::rwx`.
import {
  canonicalAcl,
  EXECUTE,
  invalidAcl,
  isSameEntry,
  READ,
  WRITE,
  type Acl,
  type AclEntry,
  type AclEntryType,
} from './acl.ts'

/** An entry to remove: it has no permissions. */
export type AclEntryName = Omit<AclEntry, 'permissions'>

/** Longer texts can't be lists within the limits: 64 entries of a GUID each have about 3,500 characters. */
const TEXT_LENGTH_MAX = 16 * 1024

/** A whole list, which replaces the one of a path. */
export function parseAcl(text: string): Acl {
  return canonicalAcl(parseAclEntries(text))
}

/** Entries that are added to a list. */
export function parseAclEntries(text: string): readonly AclEntry[] {
  return distinct(
    fieldsOf(text).map(({ isDefault, fields: [type = '', id = '', permissions, ...rest] }) => {
      if (permissions === undefined || rest.length > 0) throw invalidAcl()
      const name = entryName(isDefault, type, id)
      return { ...name, permissions: requireRwx(permissions) }
    }),
  )
}

/** Entries that are removed from a list: `user:{id}`, `mask`, `default:group`. */
export function parseAclEntryNames(text: string): readonly AclEntryName[] {
  return distinct(
    fieldsOf(text).map(({ isDefault, fields: [type = '', id = '', ...rest] }) => {
      if (rest.some((field) => field !== '') || rest.length > 1) throw invalidAcl()
      const name = entryName(isDefault, type, id)
      // A path without an owner's, a group's or others' entry has no permissions at all.
      if (!isDefault && id === '' && name.type !== 'mask') throw invalidAcl()
      return name
    }),
  )
}

export function formatAcl(acl: Acl): string {
  return acl.map(formatEntry).join(',')
}

function formatEntry({ isDefault, type, id, permissions }: AclEntry): string {
  return `${isDefault ? 'default:' : ''}${type}:${id}:${formatRwx(permissions)}`
}

export function formatRwx(permissions: number): string {
  const read = (permissions & READ) === 0 ? '-' : 'r'
  const write = (permissions & WRITE) === 0 ? '-' : 'w'
  return `${read}${write}${(permissions & EXECUTE) === 0 ? '-' : 'x'}`
}

type Fields = { readonly isDefault: boolean; readonly fields: readonly string[] }

function fieldsOf(text: string): readonly Fields[] {
  if (text.length > TEXT_LENGTH_MAX) throw invalidAcl()
  return text.split(',').map((entry) => {
    const fields = entry.trim().split(':')
    const isDefault = fields[0]?.toLowerCase() === 'default'
    return { isDefault, fields: isDefault ? fields.slice(1) : fields }
  })
}

const TYPES: readonly AclEntryType[] = ['user', 'group', 'mask', 'other']

function entryName(isDefault: boolean, typeText: string, id: string): AclEntryName {
  const type = TYPES.find((word) => word === typeText.toLowerCase())
  if (type === undefined) throw invalidAcl()
  if ((type === 'mask' || type === 'other') && id !== '') throw invalidAcl()
  if (!isPrincipal(id)) throw invalidAcl()
  return { isDefault, type, id }
}

/** An object id, a user principal name or `$superuser`: printable, and without the separators of the text. */
export function isPrincipal(id: string): boolean {
  return id === '' || /^[!-~]{1,256}$/.test(id)
}

function requireRwx(text: string): number {
  const permissions = parseRwx(text)
  if (permissions === undefined) throw invalidAcl()
  return permissions
}

/** undefined: malformed. */
export function parseRwx(text: string): number | undefined {
  if (!/^[r-][w-][x-]$/.test(text)) return undefined
  const [read, write, execute] = [text[0] === 'r', text[1] === 'w', text[2] === 'x']
  return (read ? READ : 0) | (write ? WRITE : 0) | (execute ? EXECUTE : 0)
}

function distinct<Entry extends AclEntryName>(entries: readonly Entry[]): readonly Entry[] {
  const isRepeated = (entry: Entry, at: number): boolean =>
    entries.findIndex((other) => isSameEntry(other, entry)) < at
  if (entries.some(isRepeated)) throw invalidAcl()
  return entries
}
