// Decodes and checks lists of accounts, `name:key1[:key2];…`. Tolerates quotes and spaces. Error messages name the
// account and never repeat a key.
import { accountKey, accountKeyBytes, type Account } from '../../storage/shared/account.ts'
import { usageError } from '../start-error.ts'

export const WELL_KNOWN_ACCOUNT = 'devstoreaccount1'

/** Public since the first storage emulator, so it protects nothing. */
export const WELL_KNOWN_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export type AccountMap = ReadonlyMap<string, Account>

/** `place` names the source of the list in error messages. Entries end at a semicolon or a line break. */
export function decodeAccountList(text: string, place: string): AccountMap {
  const entries = text
    .split(/[;\r\n]/)
    .map(unquote)
    .filter((entry) => entry !== '' && !entry.startsWith('#'))
  return accountMap(
    entries.map((entry) => entry.split(':').map(unquote)),
    place,
  )
}

/** The accounts of lazuli.json: a list as above, or an object that maps names to keys. */
export function decodeAccountsJson(value: unknown, place: string): AccountMap {
  if (typeof value === 'string') return decodeAccountList(value, place)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usageError(`${place} must be "name:key1[:key2];…" or { "name": ["key1", "key2"] }`)
  }
  const entries = Object.entries(value).map(([name, keys]: [string, unknown]) => {
    if (typeof keys === 'string') return [name, ...keys.split(':').map(unquote)]
    if (Array.isArray(keys)) return [name, ...keys.map(String)]
    throw usageError(`${place}: account ${quoted(name)} must have a key or a list of keys`)
  })
  return accountMap(entries, place)
}

export function wellKnownAccounts(): AccountMap {
  return accountMap([[WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY]], 'the default')
}

function accountMap(entries: readonly (readonly string[])[], place: string): AccountMap {
  const accounts = new Map<string, Account>()
  for (const [name = '', ...keys] of entries) {
    checkName(name, place)
    if (accounts.has(name)) throw usageError(`${place}: account ${quoted(name)} is listed twice`)
    checkKeys(name, keys, place)
    accounts.set(name, { name, keys: keys.map(accountKey) })
  }
  if (accounts.size === 0) throw usageError(`${place} contains no account; write name:key`)
  return accounts
}

function checkName(name: string, place: string): void {
  if (!/^[A-Za-z0-9_-]{1,63}$/.test(name)) {
    throw usageError(
      `${place}: ${quoted(name)} is not a valid account name: use up to 63 letters and digits`,
    )
  }
  if (name.endsWith('-secondary')) {
    throw usageError(
      `${place}: ${quoted(name)} is reserved for the secondary endpoint of another account`,
    )
  }
}

function checkKeys(name: string, keys: readonly string[], place: string): void {
  if (keys.length === 0)
    throw usageError(`${place}: account ${quoted(name)} has no key; write name:key`)
  if (keys.length > 2) throw usageError(`${place}: account ${quoted(name)} has more than two keys`)
  for (const [index, key] of keys.entries()) {
    if (accountKeyBytes(key).length > 0) continue
    const problem = key === '' ? 'is empty' : 'is not base64'
    throw usageError(`${place}: key ${index + 1} of account ${quoted(name)} ${problem}`)
  }
}

/** Compose files and shells may leave quotes; no name and no key contains any. */
function unquote(text: string): string {
  return text.replaceAll(/["']/g, '').trim()
}

/** Shortened, since a list without names may begin with a key. */
function quoted(name: string): string {
  return `"${name.length > 24 ? `${name.slice(0, 12)}…` : name}"`
}
