// SMB users that are not accounts: people and programs with a name and a password of their own. They see the shares of
// one account, and security descriptors decide what they may do.
import type { SmbIdentity } from '../../storage/file/security/smb-identity.ts'

export type SmbUser = {
  /** The account whose shares the user sees. */
  readonly account: string
  /** MD4 of the password in UTF-16LE (ntlm.ts): all that a login needs, so the password is not kept. */
  readonly ntHash: Uint8Array
  readonly identity: SmbIdentity
}

/** Looked up for each login, so that a changed list takes effect without a restart. */
export interface SmbUsers {
  /** Names are case-insensitive. */
  get(name: string): SmbUser | undefined
  /** The users of all accounts. */
  identities(): readonly SmbIdentity[]
}
