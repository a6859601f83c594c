// The accounts, from the environment, an accounts file or lazuli.json; by default devstoreaccount1 and
// devlake1. A changed file takes effect at the next request.
import type { Account, Accounts } from '../../storage/shared/account.ts'
import {
  decodeAccountList,
  decodeAccountsJson,
  WELL_KNOWN_KEY,
  wellKnownAccounts,
  type AccountMap,
} from './account-list.ts'
import { readConfigFile } from '../options/config-file.ts'
import type { Env } from '../options/decode-options.ts'
import { isLoopbackHost } from '../host.ts'
import { readListFile, reloadedFile } from './reloaded-file.ts'
import { usageError } from '../start-error.ts'

export type AccountSources = {
  readonly env: Env
  readonly accountsFile: string | undefined
  /** lazuli.json, whether or not it exists yet; undefined for servers started from code. */
  readonly configPath: string | undefined
}

export type AccountsSettings = {
  readonly sources: AccountSources
  readonly clock: () => number
  /** Called when a changed file was read, or has errors: then the old accounts stay. */
  readonly report: (level: 'info' | 'warn', message: string) => void
}

export function openAccounts({ sources, clock, report }: AccountsSettings): Accounts {
  const current = reloadedFile({
    path: watchedPath(sources),
    read: () => readAccounts(sources),
    clock,
    changed: (accounts, path) =>
      report('info', `accounts reloaded from ${path}: ${[...accounts.keys()].join(', ')}`),
    failed: (reason) => report('warn', `accounts not reloaded: ${reason}`),
  })
  return {
    get: (name) => current().get(name),
    names: () => [...current().keys()],
  }
}

/** Accounts that do not change, for tests and for servers started from code. */
export function fixedAccounts(accounts: AccountMap = wellKnownAccounts()): Accounts {
  return { get: (name) => accounts.get(name), names: () => [...accounts.keys()] }
}

export function readAccounts(sources: AccountSources): AccountMap {
  const listed = listFromEnv(sources.env)
  if (listed !== undefined && sources.accountsFile !== undefined) {
    throw usageError(
      `accounts are given both by ${listed.place} and by --accountsFile; use only one of them`,
    )
  }
  if (listed !== undefined) return decodeAccountList(listed.text, listed.place)
  if (sources.accountsFile !== undefined) return readAccountsFile(sources.accountsFile)
  const file = sources.configPath === undefined ? undefined : readConfigFile(sources.configPath)
  if (file?.accounts === undefined) return wellKnownAccounts()
  return decodeAccountsJson(file.accounts, `${file.path}: "accounts"`)
}

/** Lazuli's own variable wins over Azurite's. */
function listFromEnv(env: Env): { text: string; place: string } | undefined {
  for (const place of ['LAZULI_ACCOUNTS', 'AZURITE_ACCOUNTS']) {
    const text = env[place]?.trim()
    if (text !== undefined && text !== '') return { text, place }
  }
  return undefined
}

function readAccountsFile(path: string): AccountMap {
  return decodeAccountList(readListFile(path, 'accounts'), path)
}

/** The environment of a running process does not change. */
function watchedPath(sources: AccountSources): string | undefined {
  if (listFromEnv(sources.env) !== undefined) return undefined
  return sources.accountsFile ?? sources.configPath
}

/** Whether an account has a key that not everybody knows. */
export function hasOwnKey(accounts: readonly Account[]): boolean {
  return accounts.some(({ keys }) => keys.some(({ text }) => text !== WELL_KNOWN_KEY))
}

/** The warning if other machines can use the well-known key. */
export function wellKnownKeyWarning(
  hosts: readonly string[],
  accounts: readonly Account[],
): string | undefined {
  const open = hosts.filter((host) => !isLoopbackHost(host))
  const known = accounts.filter(({ keys }) => keys.some(({ text }) => text === WELL_KNOWN_KEY))
  if (open.length === 0 || known.length === 0) return undefined
  const names = known.map(({ name }) => name).join(', ')
  return (
    `listening on ${[...new Set(open)].join(', ')} with the well-known key of ${names}: ` +
    'anyone who can reach this address can read and change everything. ' +
    'Set LAZULI_ACCOUNTS="name:key" to use a key of your own.'
  )
}
