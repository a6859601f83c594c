// Names of SIDs and SIDs of names ([MS-LSAT] 3.1.1): the well-known ones, and the users of the caller's account, whose
// domain is the account.
import type { Sid } from '../../storage/file/security/sid.ts'

/** SID_NAME_USE ([MS-LSAT] 2.2.13). */
export const SID_USE = {
  user: 1,
  group: 2,
  domain: 3,
  alias: 4,
  wellKnownGroup: 5,
  unknown: 8,
} as const

export type SidUse = (typeof SID_USE)[keyof typeof SID_USE]

export type LsaDomain = { readonly name: string; readonly sid: Sid }

export type LsaName = {
  readonly sid: Sid
  readonly name: string
  readonly domain: LsaDomain
  readonly use: SidUse
}

/** The caller's account. */
export type LsaAccount = {
  readonly domain: LsaDomain
  readonly users: readonly { readonly name: string; readonly sid: Sid }[]
}

const AUTHORITY: LsaDomain = { name: 'NT AUTHORITY', sid: 'S-1-5' }
const BUILTIN: LsaDomain = { name: 'BUILTIN', sid: 'S-1-5-32' }
const { alias, wellKnownGroup } = SID_USE

const wellKnown = (domain: LsaDomain, use: SidUse, names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([rid, name]) => ({ sid: `${domain.sid}-${rid}`, name, domain, use }))

/** [MS-DTYP] 2.4.2.4, with the names that Windows shows. */
const WELL_KNOWN: readonly LsaName[] = [
  ...wellKnown({ name: '', sid: 'S-1-1' }, wellKnownGroup, { 0: 'Everyone' }),
  ...wellKnown({ name: '', sid: 'S-1-3' }, wellKnownGroup, {
    0: 'CREATOR OWNER',
    1: 'CREATOR GROUP',
    4: 'OWNER RIGHTS',
  }),
  ...wellKnown(AUTHORITY, wellKnownGroup, {
    2: 'NETWORK',
    3: 'BATCH',
    4: 'INTERACTIVE',
    6: 'SERVICE',
    7: 'ANONYMOUS LOGON',
    9: 'ENTERPRISE DOMAIN CONTROLLERS',
    10: 'SELF',
    11: 'Authenticated Users',
    12: 'RESTRICTED',
    18: 'SYSTEM',
    19: 'LOCAL SERVICE',
    20: 'NETWORK SERVICE',
  }),
  { sid: BUILTIN.sid, name: BUILTIN.name, domain: BUILTIN, use: SID_USE.domain },
  ...wellKnown(BUILTIN, alias, {
    544: 'Administrators',
    545: 'Users',
    546: 'Guests',
    547: 'Power Users',
    548: 'Account Operators',
    549: 'Server Operators',
    550: 'Print Operators',
    551: 'Backup Operators',
    552: 'Replicator',
  }),
]

export type LsaDirectory = {
  bySid(sid: Sid): LsaName | undefined
  /** `name` or `domain\name`, in any case. */
  byName(text: string): LsaName | undefined
}

export function lsaDirectory({ domain, users }: LsaAccount): LsaDirectory {
  const names: readonly LsaName[] = [
    { sid: domain.sid, name: domain.name, domain, use: SID_USE.domain },
    // DOMAIN_GROUP_RID_USERS: the primary group of all users.
    { sid: `${domain.sid}-513`, name: 'Domain Users', domain, use: SID_USE.group },
    ...users.map(({ name, sid }) => ({ sid, name, domain, use: SID_USE.user })),
    ...WELL_KNOWN,
  ]
  return {
    bySid: (sid) => names.find((each) => each.sid === sid),
    byName: (text) => {
      const [name = '', domainName] = text.toLowerCase().split('\\').reverse()
      return names.find(
        (each) =>
          each.name.toLowerCase() === name &&
          (domainName === undefined || each.domain.name.toLowerCase() === domainName),
      )
    },
  }
}
