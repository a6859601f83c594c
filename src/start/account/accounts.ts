// Which accounts exist, and where that is written: the environment, a file of accounts, lazuli.json,
// or nowhere, which means devstoreaccount1. A changed file takes effect at the next request.
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
import { isLoopback } from '../host.ts'
import { readListFile, rereadFile } from './reread-file.ts'
import { usageError } from '../start-error.ts'

export type AccountSources = {
  readonly env: Env
  readonly accountsFile: string | undefined
  /** lazuli.json, whether or not it exists yet; undefined for servers started from code. */
  readonly configPath: string | undefined
}

export type LiveAccountsSettings = {
  readonly sources: AccountSources
  readonly clock: () => number
  /** Told when a changed file was read, or is wrong: then the accounts stay as they were. */
  readonly report: (level: 'info' | 'warn', message: string) => void
}

export type LiveAccounts = Accounts & {
  /** Reads the source again, now; a wrong one throws and changes nothing. */
  reread(): void
}

export function openAccounts({ sources, clock, report }: LiveAccountsSettings): LiveAccounts {
  const { current, reread } = rereadFile({
    path: watchedPath(sources),
    read: () => readAccounts(sources),
    clock,
    changed: (accounts, path) =>
      report('info', `accounts read again from ${path}: ${[...accounts.keys()].join(', ')}`),
    failed: (reason) => report('warn', `accounts stay as they were: ${reason}`),
  })
  return {
    get: (name) => current().get(name),
    names: () => [...current().keys()],
    reread,
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
      `accounts are given by ${listed.place} and by --accountsFile; give one of them`,
    )
  }
  if (listed !== undefined) return decodeAccountList(listed.text, listed.place)
  if (sources.accountsFile !== undefined) return readAccountsFile(sources.accountsFile)
  const file = sources.configPath === undefined ? undefined : readConfigFile(sources.configPath)
  if (file?.accounts === undefined) return wellKnownAccounts()
  return decodeAccountsJson(file.accounts, `${file.path}: "accounts"`)
}

/** Lazuli's own variable wins over the one it understands for Azurite's sake. */
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

/** What to say when the key that everyone knows can be used from other machines. */
export function wellKnownKeyWarning(
  hosts: readonly string[],
  accounts: readonly Account[],
): string | undefined {
  const open = hosts.filter((host) => !isLoopback(host))
  const known = accounts.filter(({ keys }) => keys.some(({ text }) => text === WELL_KNOWN_KEY))
  if (open.length === 0 || known.length === 0) return undefined
  const names = known.map(({ name }) => name).join(', ')
  return (
    `listening on ${[...new Set(open)].join(', ')} with the well-known key of ${names}: ` +
    'whoever reaches this address can read and change everything. ' +
    'Set LAZULI_ACCOUNTS="name:key" to use a key of your own.'
  )
}
