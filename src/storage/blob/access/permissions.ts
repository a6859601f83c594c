// Permissions as in chmod: of owner, owning group and others, and the sticky bit. As text they are octal (`1750`) or symbolic
// (`rwxr-x--T`). Where a path has a mask, the permissions of the group are those of the mask.
import {
  canonicalAcl,
  EXECUTE,
  isExtended,
  permissionsOf,
  type AccessControl,
  type Acl,
  type AclEntry,
} from './acl.ts'
import { formatRwx } from './acl-text.ts'

/** Nine bits. */
export type Mode = { readonly bits: number; readonly isSticky: boolean }

export const DIRECTORY_MODE: Mode = { bits: 0o777, isSticky: false }
export const FILE_MODE: Mode = { bits: 0o666, isSticky: false }
/** Of the root directory of a filesystem. */
export const ROOT_MODE: Mode = { bits: 0o750, isSticky: false }
/** Applies if a client sends none. */
export const UMASK_BITS = 0o027

const STICKY_BIT = 0o1000

/** undefined: malformed. */
export function parseMode(text: string): Mode | undefined {
  if (/^[01][0-7]{3}$/.test(text)) {
    const value = Number.parseInt(text, 8)
    return { bits: value & 0o777, isSticky: (value & STICKY_BIT) !== 0 }
  }
  return parseSymbolic(text)
}

/** Four octal digits. undefined: malformed. */
export function parseUmask(text: string): number | undefined {
  return /^0[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : undefined
}

/** The service itself shows a trailing `+` for extended lists, so it takes one as well. */
function parseSymbolic(text: string): Mode | undefined {
  if (!/^(?:[r-][w-][x-]){2}[r-][w-][xtT-]\+?$/.test(text)) return undefined
  const last = text.charAt(8)
  let bits = 0
  for (let at = 0; at < 9; at += 1) {
    const isSet = at < 8 ? text[at] !== '-' : last === 'x' || last === 't'
    bits = bits * 2 + Number(isSet)
  }
  return { bits, isSticky: last === 't' || last === 'T' }
}

/** `x-ms-permissions`: `rwxr-x---`, with `+` if there are further entries. */
export function formatPermissions({ acl, isSticky }: AccessControl): string {
  const { bits } = modeOf(acl)
  const others = bits & 7
  const text = formatRwx(bits >> 6) + formatRwx((bits >> 3) & 7) + formatRwx(others)
  const sticky = (others & EXECUTE) === 0 ? 'T' : 't'
  return `${isSticky ? text.slice(0, 8) + sticky : text}${isExtended(acl) ? '+' : ''}`
}

function modeOf(acl: Acl): Pick<Mode, 'bits'> {
  const group = permissionsOf(acl, 'mask') ?? permissionsOf(acl, 'group') ?? 0
  const [user = 0, other = 0] = [permissionsOf(acl, 'user'), permissionsOf(acl, 'other')]
  return { bits: (user << 6) | (group << 3) | other }
}

export function aclOfMode({ bits }: Pick<Mode, 'bits'>): Acl {
  const entry = (type: AclEntry['type'], permissions: number): AclEntry => {
    return { isDefault: false, type, id: '', permissions }
  }
  return canonicalAcl([
    entry('user', bits >> 6),
    entry('group', (bits >> 3) & 7),
    entry('other', bits & 7),
  ])
}

/** chmod: named entries stay, and the group's bits go to the mask if there is one. */
export function withMode(control: AccessControl, mode: Mode): AccessControl {
  const acl = withBits(control.acl, () => mode.bits)
  return { ...control, acl, isSticky: mode.isSticky }
}

/** Changes the entries of the access list that the bits of a mode stand for. */
export function withBits(acl: Acl, change: (bits: number) => number): Acl {
  const bits = change(modeOf(acl).bits)
  const group = permissionsOf(acl, 'mask') === undefined ? 'group' : 'mask'
  return acl.map((entry): AclEntry => {
    if (entry.isDefault || entry.id !== '') return entry
    if (entry.type === 'user') return { ...entry, permissions: bits >> 6 }
    if (entry.type === group) return { ...entry, permissions: (bits >> 3) & 7 }
    return entry.type === 'other' ? { ...entry, permissions: bits & 7 } : entry
  })
}
