// Lists of accounts as people write them, `name:key1[:key2];…`, decoded and checked. Quotes and spaces
// are tolerated. Messages name the account and never repeat a key.
import { accountKey, accountKeyBytes, type Account } from '../../storage/shared/account.ts'
import { usageError } from '../start-error.ts'

export const WELL_KNOWN_ACCOUNT = 'devstoreaccount1'

/** Public knowledge since the first storage emulator: it opens a door for everyone. */
export const WELL_KNOWN_KEY =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

export type AccountMap = ReadonlyMap<string, Account>

/** `place` is where the list stands, for messages. Entries end at a semicolon or a line's end. */
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

/** The accounts of lazuli.json: a list as above, or an object of keys by name. */
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
    if (accounts.has(name)) throw usageError(`${place}: account ${quoted(name)} stands there twice`)
    checkKeys(name, keys, place)
    accounts.set(name, { name, keys: keys.map(accountKey) })
  }
  if (accounts.size === 0) throw usageError(`${place} holds no account; write name:key`)
  return accounts
}

function checkName(name: string, place: string): void {
  if (!/^[A-Za-z0-9_-]{1,63}$/.test(name)) {
    throw usageError(`${place}: ${quoted(name)} is not an account's name (letters and digits)`)
  }
  if (name.endsWith('-secondary')) {
    throw usageError(`${place}: ${quoted(name)} would be the secondary of another account`)
  }
}

function checkKeys(name: string, keys: readonly string[], place: string): void {
  if (keys.length === 0) throw usageError(`${place}: account ${quoted(name)} has no key`)
  if (keys.length > 2) throw usageError(`${place}: account ${quoted(name)} has more than two keys`)
  for (const [index, key] of keys.entries()) {
    if (accountKeyBytes(key).length > 0) continue
    throw usageError(`${place}: key ${index + 1} of account ${quoted(name)} is empty`)
  }
}

/** Quotes come along from compose files and shells, and stand in no name and no key. */
function unquote(text: string): string {
  return text.replaceAll(/["']/g, '').trim()
}

/** A list without names may begin with a key, so only the start of a name is repeated. */
function quoted(name: string): string {
  return `"${name.length > 24 ? `${name.slice(0, 12)}…` : name}"`
}
