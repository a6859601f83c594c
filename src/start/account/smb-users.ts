// Users of SMB besides accounts, as people write them: `user:account:password`, or the password's NT hash in its
// place, one a line. A wrong line refuses the whole list; the message names it and never repeats what stands there.
import { ntHashOf } from '../../auth/smb/ntlm.ts'
import type { SmbUser, SmbUsers } from '../../auth/smb/smb-users.ts'
import type { Accounts } from '../../storage/shared/account.ts'
import { smbIdentity, type SmbIdentity } from '../../storage/file/security/smb-identity.ts'
import { readListFile, rereadFile } from './reread-file.ts'
import { usageError } from '../start-error.ts'

/** By the name in small letters. */
export type SmbUserMap = ReadonlyMap<string, SmbUser>

/** A line, or an entry of a list in code; `place` is for messages. */
type Entry = {
  readonly place: string
  readonly user: string
  readonly account: string
  readonly ntHash: Uint8Array
}

/** All but what Windows does not have in a user's name, and nothing that would have to be quoted. */
const USER = /^[^\p{C}\s"/\\[\]:;|=,+*?<>@#]{1,64}$/u
/** A password may have colons and spaces, so it is the rest of the line. */
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
    throw usageError(`${place}: write user:account:password or user:account:nt:hash`)
  }
  return { place, user, account, ntHash: decodeSecret(secret, place) }
}

function decodeSecret(secret: string, place: string): Uint8Array {
  if (!secret.startsWith('nt:')) return ntHashOf(secret)
  const digits = secret.slice(3).trim()
  if (!/^[0-9a-f]{32}$/i.test(digits)) {
    throw usageError(`${place}: behind nt: stand the 32 hexadecimal digits of an NT hash`)
  }
  return Buffer.from(digits, 'hex')
}

function userMap(entries: readonly Entry[], accounts: Accounts): SmbUserMap {
  const users = new Map<string, SmbUser>()
  const sids = new Set<string>()
  const accountNames = new Set(accounts.names().map((name) => name.toLowerCase()))
  for (const { place, user, account, ntHash } of entries) {
    const name = user.toLowerCase()
    if (!USER.test(user)) throw usageError(`${place}: that is not a user's name`)
    if (accountNames.has(name)) {
      throw usageError(`${place}: "${user}" is an account, so it cannot be a user's name`)
    }
    if (accounts.get(account) === undefined) {
      throw usageError(`${place}: the account of "${user}" does not exist`)
    }
    if (users.has(name)) throw usageError(`${place}: "${user}" stands there twice`)
    const identity = smbIdentity(account, user)
    // One in a billion; but then each of the two would be the other.
    if (sids.has(identity.sid)) throw usageError(`${place}: "${user}" needs another name`)
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
  const { current } = rereadFile({
    path,
    read: () => decodeSmbUsers(readListFile(path, 'SMB users'), path, accounts),
    clock,
    changed: (users) => {
      const names = identitiesOf(users).map(({ name }) => name)
      report('info', `SMB users read again from ${path}: ${names.join(', ')}`)
    },
    failed: (reason) => report('warn', `SMB users stay as they were: ${reason}`),
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
