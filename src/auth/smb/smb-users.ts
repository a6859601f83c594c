// Users of SMB that are not accounts: people and programs with a name and a password of their own, who see the shares
// of one account and may do what security descriptors let them.
import type { SmbIdentity } from '../../storage/file/security/smb-identity.ts'

export type SmbUser = {
  /** Whose shares the user sees. */
  readonly account: string
  /** MD4 of the password in UTF-16LE (ntlm.ts): all that a login needs, so the password is not kept. */
  readonly ntHash: Uint8Array
  readonly identity: SmbIdentity
}

/** Looked up for each login, so that a changed list takes effect without a restart. */
export interface SmbUsers {
  /** However the client writes it: names have no case. */
  get(name: string): SmbUser | undefined
  /** All of them, of all accounts. */
  identities(): readonly SmbIdentity[]
}
