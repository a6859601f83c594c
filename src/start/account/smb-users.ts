// Decodes lists of SMB users: one `user:account:password` per line, or the password's NT hash instead. A bad line
// invalidates the whole list; the error names the line and never repeats a password.
import { ntHashOf } from '../../auth/smb/ntlm.ts'
import type { SmbUser, SmbUsers } from '../../auth/smb/smb-users.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import { smbIdentity, type SmbIdentity } from '../../storage/file/security/smb-identity.ts'
import { readListFile, reloadedFile } from './reloaded-file.ts'
import { usageError } from '../start-error.ts'

/** By name in lower case. */
export type SmbUserMap = ReadonlyMap<string, SmbUser>

/** A line, or an entry of a list in code; `place` is for error messages. */
type Entry = {
  readonly place: string
  readonly user: string
  readonly account: string
  readonly ntHash: Uint8Array
}

/** Excludes the characters that Windows forbids in user names, and those that need quoting. */
const USER = /^[^\p{C}\s"/\\[\]:;|=,+*?<>@#]{1,64}$/u
const INVALID_USER =
  'invalid user name: use up to 64 characters, no spaces and none of "/\\[]:;|=,+*?<>@#'
/** The password is the rest of the line, since it may contain colons and spaces. */
const LINE = /^\s*([^:]*?)\s*:\s*([^:]*?)\s*:(.+)$/

export function decodeSmbUsers(text: string, path: string, accounts: Accounts): SmbUserMap {
  const entries: Entry[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue
    entries.push(decodeLine(line, `${path}, line ${index + 1}`))
  }
  return userMap(entries, accounts)
}

function decodeLine(line: string, place: string): Entry {
  const [, user = '', account = '', secret] = LINE.exec(line) ?? []
  if (secret === undefined) {
    throw usageError(`${place}: expected user:account:password or user:account:nt:hash`)
  }
  return { place, user, account, ntHash: decodeSecret(secret, place) }
}

function decodeSecret(secret: string, place: string): Uint8Array {
  if (!secret.startsWith('nt:')) return ntHashOf(secret)
  const digits = secret.slice(3).trim()
  if (!/^[0-9a-f]{32}$/i.test(digits)) {
    throw usageError(`${place}: nt: must be followed by the 32 hexadecimal digits of an NT hash`)
  }
  return Buffer.from(digits, 'hex')
}

function userMap(entries: readonly Entry[], accounts: Accounts): SmbUserMap {
  const users = new Map<string, SmbUser>()
  const sids = new Set<string>()
  const accountNames = new Set(accounts.names().map((name) => name.toLowerCase()))
  for (const { place, user, account, ntHash } of entries) {
    const name = user.toLowerCase()
    if (!USER.test(user)) throw usageError(`${place}: ${INVALID_USER}`)
    if (accountNames.has(name)) {
      throw usageError(`${place}: "${user}" is the name of an account; choose another user name`)
    }
    if (accounts.get(account) === undefined) {
      throw usageError(`${place}: the account of "${user}" does not exist`)
    }
    if (users.has(name)) throw usageError(`${place}: "${user}" is listed twice`)
    const identity = smbIdentity(account, user)
    // SIDs are hashes of names. A collision is one in a billion, but would make the two users the same.
    if (sids.has(identity.sid)) {
      throw usageError(`${place}: "${user}" has the same SID as another user; choose another name`)
    }
    sids.add(identity.sid)
    users.set(name, { account, ntHash, identity })
  }
  return users
}

export type SmbUsersSettings = {
  readonly path: string
  readonly accounts: Accounts
  readonly clock: () => number
  readonly report: (level: 'info' | 'warn', message: string) => void
}

/** A changed file takes effect at the next login. */
export function openSmbUsers({ path, accounts, clock, report }: SmbUsersSettings): SmbUsers {
  const current = reloadedFile({
    path,
    read: () => decodeSmbUsers(readListFile(path, 'SMB users'), path, accounts),
    clock,
    changed: (users) => {
      const names = identitiesOf(users).map(({ name }) => name)
      report('info', `SMB users reloaded from ${path}: ${names.join(', ')}`)
    },
    failed: (reason) => report('warn', `SMB users not reloaded: ${reason}`),
  })
  return {
    get: (name) => current().get(name.toLowerCase()),
    identities: () => identitiesOf(current()),
  }
}

function identitiesOf(users: SmbUserMap): readonly SmbIdentity[] {
  return [...users.values()].map(({ identity }) => identity)
}

/** For servers started from code. */
export function fixedSmbUsers(
  given: readonly { readonly user: string; readonly account: string; readonly password: string }[],
  accounts: Accounts,
): SmbUsers {
  const users = userMap(
    given.map(({ user, account, password }, index) => {
      const place = `smbUsers[${index}]`
      if (password === '') throw usageError(`${place} has no password`)
      return { place, user, account, ntHash: ntHashOf(password) }
    }),
    accounts,
  )
  return { get: (name) => users.get(name.toLowerCase()), identities: () => identitiesOf(users) }
}
