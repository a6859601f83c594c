// The SIDs of an SMB user, as opposed to the account itself. A user's SID is derived only from the names of account and
// user, so it is the same after a restart, on another machine, and for a user who is removed and added again.
import { createHash } from 'node:crypto'
import { SYSTEM_CREATOR, type Creator } from './security-descriptor-inherit.ts'
import type { Sid } from './sid.ts'

export type SmbIdentity = {
  /** As configured. */
  readonly name: string
  readonly sid: Sid
  /** The primary group: all users of the account. */
  readonly groupSid: Sid
  /** The user and all its groups. */
  readonly sids: ReadonlySet<Sid>
}

/** Everyone, Authenticated Users, Users, NETWORK: every SMB user is in all of them. */
const GROUPS: readonly Sid[] = ['S-1-1-0', 'S-1-5-11', 'S-1-5-32-545', 'S-1-5-2']

/** DOMAIN_GROUP_RID_USERS ([MS-DTYP] 2.4.2.4) */
const USERS_RID = 513
/** Smaller RIDs are well-known in every domain. */
const RID_MIN = 1_000
const RID_COUNT = 2 ** 30 - RID_MIN

/**
 * S-1-5-21-a-b-c-rid: a, b, c are the first three words (little-endian) of the SHA-256 of the account's name, which
 * plays the role of a domain. rid is at least 1000, from the first word of the SHA-256 of the account, a zero byte and
 * the user's name in lower case.
 */
export function smbIdentity(account: string, name: string): SmbIdentity {
  const domain = domainSidOf(account)
  const own = createHash('sha256').update(`${account}\0${name.toLowerCase()}`).digest()
  const of = (rid: number): Sid => `${domain}-${rid}`
  const sid = of(RID_MIN + (own.readUInt32LE(0) % RID_COUNT))
  const groupSid = of(USERS_RID)
  return { name, sid, groupSid, sids: new Set([sid, groupSid, ...GROUPS]) }
}

/** The common prefix of the SIDs of an account's users. */
export function domainSidOf(account: string): Sid {
  const hash = createHash('sha256').update(account).digest()
  return ['S-1-5-21', ...[0, 4, 8].map((offset) => hash.readUInt32LE(offset))].join('-')
}

/** The owner of new files. Undefined is the account, whose files belong to SYSTEM. */
export function creatorOf(identity: SmbIdentity | undefined): Creator {
  if (identity === undefined) return SYSTEM_CREATOR
  return { owner: identity.sid, group: identity.groupSid }
}
