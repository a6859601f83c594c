// Which accounts exist, and where that is written: the environment, a file of accounts, lazuli.json,
// or nowhere, which means devstoreaccount1. A changed file takes effect at the next request, without
// a timer: a lookup looks at the file's time, at most once a second.
import { readFileSync, statSync } from 'node:fs'
import type { Account, Accounts } from '../storage/account.ts'
import {
  decodeAccountList,
  decodeAccountsJson,
  WELL_KNOWN_KEY,
  wellKnownAccounts,
  type AccountMap,
} from './account-list.ts'
import { readConfigFile } from './config-file.ts'
import type { Env } from './decode-options.ts'
import { isLoopback } from './host.ts'
import { reasonOf, usageError } from './start-error.ts'

const LOOK_EVERY_MS = 1000

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
  const path = watchedPath(sources)
  let seen = fileMark(path)
  let accounts = readAccounts(sources)
  let lookAtMs = clock() + LOOK_EVERY_MS

  const look = (nowMs: number): void => {
    lookAtMs = nowMs + LOOK_EVERY_MS
    const mark = fileMark(path)
    if (mark === seen) return
    seen = mark
    try {
      accounts = readAccounts(sources)
      report('info', `accounts read again from ${path}: ${[...accounts.keys()].join(', ')}`)
    } catch (error) {
      report('warn', `accounts stay as they were: ${reasonOf(error)}`)
    }
  }
  const current = (): AccountMap => {
    if (path !== undefined) {
      const nowMs = clock()
      // A clock that was set back must not stop the looking.
      if (nowMs >= lookAtMs || nowMs < lookAtMs - LOOK_EVERY_MS) look(nowMs)
    }
    return accounts
  }
  return {
    get: (name) => current().get(name),
    names: () => [...current().keys()],
    reread: () => {
      const mark = fileMark(path)
      accounts = readAccounts(sources)
      seen = mark
    },
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
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw usageError(`cannot read the accounts file ${path}: ${reasonOf(error)}`)
  }
  return decodeAccountList(text.replace(/^\uFEFF/, ''), path)
}

/** The environment of a running process does not change. */
function watchedPath(sources: AccountSources): string | undefined {
  if (listFromEnv(sources.env) !== undefined) return undefined
  return sources.accountsFile ?? sources.configPath
}

/** Differs when the file does; an inode, because an editor or Kubernetes puts a new file in place. */
function fileMark(path: string | undefined): string {
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.ino} ${stat.size} ${stat.mtimeMs}`
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
