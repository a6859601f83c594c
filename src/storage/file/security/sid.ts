// Security identifiers ([MS-DTYP] 2.4.2): canonical text in memory (`S-1-5-32-544`), the packet form in descriptors, and
// the two-letter aliases of SDDL. Aliases of domain SIDs (DA, DU, LA…) are missing: without a domain they have no SID,
// and the service rejects them.
import { StorageError } from '../../shared/error.ts'

/** `S-1-` authority, sub-authorities; decimal, no leading zeros. */
export type Sid = string

const SUB_AUTHORITY_COUNT_MAX = 15

// prettier-ignore
const SID_ALIASES: Readonly<Record<string, Sid>> = {
  AA: 'S-1-5-32-579', AC: 'S-1-15-2-1', AN: 'S-1-5-7', AO: 'S-1-5-32-548', AS: 'S-1-18-1',
  AU: 'S-1-5-11', BA: 'S-1-5-32-544', BG: 'S-1-5-32-546', BO: 'S-1-5-32-551', BU: 'S-1-5-32-545',
  CD: 'S-1-5-32-574', CG: 'S-1-3-1', CO: 'S-1-3-0', CY: 'S-1-5-32-569', ED: 'S-1-5-9',
  ER: 'S-1-5-32-573', ES: 'S-1-5-32-576', HA: 'S-1-5-32-578', HI: 'S-1-16-12288',
  HO: 'S-1-5-32-584', IS: 'S-1-5-32-568', IU: 'S-1-5-4', LS: 'S-1-5-19', LU: 'S-1-5-32-559',
  LW: 'S-1-16-4096', ME: 'S-1-16-8192', MP: 'S-1-16-8448', MS: 'S-1-5-32-577', MU: 'S-1-5-32-558',
  NO: 'S-1-5-32-556', NS: 'S-1-5-20', NU: 'S-1-5-2', OW: 'S-1-3-4', PO: 'S-1-5-32-550',
  PS: 'S-1-5-10', PU: 'S-1-5-32-547', RA: 'S-1-5-32-575', RC: 'S-1-5-12', RD: 'S-1-5-32-555',
  RE: 'S-1-5-32-552', RM: 'S-1-5-32-580', RU: 'S-1-5-32-554', SI: 'S-1-16-16384',
  SO: 'S-1-5-32-549', SS: 'S-1-18-2', SU: 'S-1-5-6', SY: 'S-1-5-18', UD: 'S-1-5-84-0-0-0-0-0',
  WD: 'S-1-1-0', WR: 'S-1-5-33',
}

const ALIAS_OF: ReadonlyMap<Sid, string> = new Map(
  Object.entries(SID_ALIASES).map(([alias, sid]) => [sid, alias]),
)

export const SID_SYSTEM: Sid = 'S-1-5-18'
export const SID_CREATOR_OWNER: Sid = 'S-1-3-0'
export const SID_CREATOR_GROUP: Sid = 'S-1-3-1'
export const SID_OWNER_RIGHTS: Sid = 'S-1-3-4'

/** The length in bytes of a SID's packet form. */
export function sidLengthBytes(sid: Sid): number {
  return 8 + 4 * (sid.split('-').length - 3)
}

/** Decodes the SID at the start of `bytes`, ignoring the rest. */
export function decodeSid(bytes: Uint8Array): Sid {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length < 8 || bytes[0] !== 1) throw new StorageError('FileInvalidPermission')
  const count = view.getUint8(1)
  if (count > SUB_AUTHORITY_COUNT_MAX || bytes.length < 8 + 4 * count) {
    throw new StorageError('FileInvalidPermission')
  }
  const authority = view.getUint16(2) * 2 ** 32 + view.getUint32(4)
  const subAuthorities = Array.from({ length: count }, (_, i) => view.getUint32(8 + 4 * i, true))
  return sidOf(authority, subAuthorities)
}

export function encodeSid(sid: Sid): Uint8Array {
  const [authority = 0, ...subAuthorities] = sid.split('-').slice(2).map(Number)
  const bytes = new Uint8Array(8 + 4 * subAuthorities.length)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, 1)
  view.setUint8(1, subAuthorities.length)
  view.setUint16(2, Math.floor(authority / 2 ** 32))
  view.setUint32(4, authority % 2 ** 32)
  for (const [i, value] of subAuthorities.entries()) view.setUint32(8 + 4 * i, value, true)
  return bytes
}

/** Accepts an alias or an `S-1-…` text; undefined if it is neither. */
export function parseSid(text: string): Sid | undefined {
  const upper = text.toUpperCase()
  if (Object.hasOwn(SID_ALIASES, upper)) return SID_ALIASES[upper]
  if (!/^S-1-(\d{1,15}|0X[\dA-F]{1,12})(-\d{1,10}){0,15}$/.test(upper)) return undefined
  const [authority = 0, ...subAuthorities] = upper.split('-').slice(2).map(Number)
  if (authority >= 2 ** 48 || subAuthorities.some((value) => value >= 2 ** 32)) return undefined
  return sidOf(authority, subAuthorities)
}

/** The SDDL form: the alias if there is one. */
export function formatSid(sid: Sid): string {
  return ALIAS_OF.get(sid) ?? sid
}

// [MS-DTYP] 2.4.2.1: an authority of 2^32 and more is written in hexadecimal.
function sidOf(authority: number, subAuthorities: readonly number[]): Sid {
  const name =
    authority < 2 ** 32 ? String(authority) : `0x${authority.toString(16).padStart(12, '0')}`
  return ['S-1', name, ...subAuthorities].join('-')
}
