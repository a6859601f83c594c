// Decodes and checks lists of accounts, `name:key1[:key2][:hns=true];…`. Tolerates quotes and spaces. Error messages name
// the account and never repeat a key.
import { accountKey, accountKeyBytes, type Account } from '../../storage/shared/account.ts'
import { usageError } from '../start-error.ts'

export const WELL_KNOWN_ACCOUNT = 'devstoreaccount1'

/** The second account, with a hierarchical namespace. */
export const WELL_KNOWN_LAKE_ACCOUNT = 'devlake1'

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
    entries.map((entry) => entryOf(...nameAndFields(entry), place)),
    place,
  )
}

function nameAndFields(entry: string): [name: string, fields: readonly string[]] {
  const [name = '', ...fields] = entry.split(':').map(unquote)
  return [name, fields]
}

/**
 * The accounts of lazuli.json: a list as above, or an object that maps names to keys or to
 * `{ "keys": ["key1", "key2"], "hns": true }`.
 */
export function decodeAccountsJson(value: unknown, place: string): AccountMap {
  if (typeof value === 'string') return decodeAccountList(value, place)
  if (!isObject(value)) {
    throw usageError(`${place} must be "name:key1[:key2];…" or { "name": ["key1", "key2"] }`)
  }
  const entries = Object.entries(value).map(([name, given]) => entryOfJson(name, given, place))
  return accountMap(entries, place)
}

function entryOfJson(name: string, given: unknown, place: string): Entry {
  if (typeof given === 'string') return entryOf(name, given.split(':').map(unquote), place)
  if (Array.isArray(given)) return { name, keys: given.map(String), isHierarchical: false }
  if (!isObject(given)) {
    throw usageError(`${place}: account ${quoted(name)} must have a key or a list of keys`)
  }
  const { key, keys = key, hns = false, ...others } = given
  const [other] = Object.keys(others)
  if (other !== undefined || (key !== undefined && keys !== key)) {
    throw usageError(
      `${place}: account ${quoted(name)} has "key" or "keys", and "hns", nothing else`,
    )
  }
  if (typeof hns !== 'boolean') {
    throw usageError(`${place}: "hns" of account ${quoted(name)} must be true or false`)
  }
  const listed = typeof keys === 'string' ? keys.split(':').map(unquote) : keys
  const list: readonly unknown[] = Array.isArray(listed) ? listed : []
  return { name, keys: list.map(String), isHierarchical: hns }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function wellKnownAccounts(): AccountMap {
  const keys = [WELL_KNOWN_KEY]
  return accountMap(
    [
      { name: WELL_KNOWN_ACCOUNT, keys, isHierarchical: false },
      { name: WELL_KNOWN_LAKE_ACCOUNT, keys, isHierarchical: true },
    ],
    'the default',
  )
}

type Entry = {
  readonly name: string
  readonly keys: readonly string[]
  readonly isHierarchical: boolean
}

/** No key can be read as the last field: base64 has nothing after its padding. */
function entryOf(name: string, fields: readonly string[], place: string): Entry {
  const last = /^hns=(.*)$/.exec(fields.at(-1) ?? '')
  if (last === null) return { name, keys: fields, isHierarchical: false }
  if (last[1] !== 'true' && last[1] !== 'false') {
    throw usageError(`${place}: write hns=true or hns=false for account ${quoted(name)}`)
  }
  return { name, keys: fields.slice(0, -1), isHierarchical: last[1] === 'true' }
}

function accountMap(entries: readonly Entry[], place: string): AccountMap {
  const accounts = new Map<string, Account>()
  for (const { name, keys, isHierarchical } of entries) {
    checkName(name, place)
    if (accounts.has(name)) throw usageError(`${place}: account ${quoted(name)} is listed twice`)
    checkKeys(name, keys, place)
    accounts.set(name, {
      name,
      keys: keys.map(accountKey),
      ...(isHierarchical && { isHierarchical }),
    })
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
