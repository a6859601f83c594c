// The options of startServer(), with their kinds, and as settings of a server.
import { CLIENT_SOURCES, type ClientSource } from './control/client.ts'
import { parseAllowCopyFrom } from './http/client/copy-source.ts'
import type { Seed } from './run/seed/seed-form.ts'
import { isLoopbackHost } from './start/host.ts'
import {
  accountsOption,
  bytesOption,
  choicesOption,
  clockOption,
  countOption,
  listOption,
  partsOption,
  portOption,
  secondsOption,
  seedOption,
  smbUsersOption,
  switchOption,
  textOption,
  tokenOption,
  type OptionKind,
} from './start/options/library-options.ts'
import { checkOptions, defaultOptions, type Options } from './start/options/options.ts'
import { usageError } from './start/start-error.ts'

export type ServerOptions = {
  /** Data folder; by default, everything is kept in memory and nothing is written. */
  readonly location?: string
  /** A PostgreSQL database instead of a folder, as the URL `postgres://…`. Several servers may use it: they are nodes. */
  readonly store?: string
  /** Where content goes with `store`: `postgres`, the default, or `folder:PATH`. */
  readonly bytes?: string
  /** Accepts a database with synchronous_commit=off, which may lose acknowledged writes. */
  readonly allowAsyncCommit?: boolean
  /**
   * Account names with one or two keys in base64. By default, devstoreaccount1 with its well-known key, and devlake1 with the
   * same key and a hierarchical namespace (`hns`).
   */
  readonly accounts?: Readonly<Record<string, AccountOption>>
  /**
   * Users that may log in over SMB, in addition to the accounts. They see the shares of one account, and the permissions
   * of files apply to them.
   */
  readonly smbUsers?: readonly {
    readonly user: string
    readonly account: string
    readonly password: string
  }[]
  /**
   * The time for leases, expiry and everything else: a function that returns milliseconds, or `held` to begin with the
   * machine's time and stand still until `server.clock` moves it. By default, the machine's clock.
   */
  readonly clock?: (() => number) | 'held'
  /**
   * What an empty store begins with: a folder or an object. A store that has data already keeps it and is not seeded.
   */
  readonly seed?: string | Seed
  readonly host?: string
  /** 0, the default, picks a free port. */
  readonly blobPort?: number
  readonly queuePort?: number
  readonly tablePort?: number
  readonly filePort?: number
  /** For Data Lake Storage, which the port of the Blob service answers, too. */
  readonly dfsPort?: number
  readonly smbPort?: number
  /** For static websites. */
  readonly webPort?: number
  /**
   * For the API over HTTP that shows and steers this server, health checks and metrics; by default, there is none. 0 picks a
   * free port.
   */
  readonly adminPort?: number
  /** The API asks for it as `Authorization: Bearer …`; needed if `host` is an address that other machines reach. */
  readonly controlToken?: string
  /** Host names that requests may use, with their subdomains, in addition to those of this machine and Azure. */
  readonly allowedHosts?: readonly string[]
  /** Servers that copies may read from: `https://*.example.com`, `http://127.0.0.1:8080`. */
  readonly allowCopyFrom?: readonly string[]
  /** Limit for content in memory; by default, none. */
  readonly memoryLimitBytes?: number
  /** Encryption scopes to create in every account, each with a random key. */
  readonly encryptionScopes?: readonly string[]
  /**
   * How long the name of a deleted container, queue, table or share stays reserved, by `clock`: 0 by default, 30 as in
   * Azure.
   */
  readonly nameReuseSeconds?: number
  /** The last requests, kept in memory: by default 2,000 requests and 16 MiB. `false` keeps none. */
  readonly journal?: false | JournalOptions
}

export type AccountOption =
  | string
  | readonly [string, string]
  | { readonly key: string | readonly [string, string]; readonly hns?: boolean }

export type JournalOptions = {
  readonly countMax?: number
  readonly bytesMax?: number
  /** Every entry is also written to this file, as a line of JSON. */
  readonly file?: string
  /**
   * What counts as one client, the first that a request has: `name` (header x-lazuli-client), `requestId`
   * (x-ms-client-request-id up to its first colon), `userAgent`, `connection`. By default `name`, `requestId`,
   * `connection`.
   */
  readonly clientBy?: readonly ClientSource[]
}

const JOURNAL_OPTION = partsOption({
  countMax: countOption,
  bytesMax: countOption,
  file: textOption,
  clientBy: choicesOption(CLIENT_SOURCES),
} satisfies Required<{ readonly [K in keyof JournalOptions]: OptionKind }>)

/** Every option has a row. */
export const OPTION_KINDS = {
  location: textOption,
  store: textOption,
  bytes: textOption,
  allowAsyncCommit: switchOption,
  accounts: accountsOption,
  smbUsers: smbUsersOption,
  clock: clockOption,
  host: textOption,
  blobPort: portOption,
  queuePort: portOption,
  tablePort: portOption,
  filePort: portOption,
  dfsPort: portOption,
  smbPort: portOption,
  webPort: portOption,
  adminPort: portOption,
  controlToken: tokenOption,
  allowedHosts: listOption('allowedHosts'),
  allowCopyFrom: listOption('allowCopyFrom'),
  memoryLimitBytes: bytesOption,
  encryptionScopes: listOption('encryptionScopes'),
  nameReuseSeconds: secondsOption,
  journal: JOURNAL_OPTION,
  seed: seedOption,
} as const satisfies Required<{ readonly [K in keyof ServerOptions]: OptionKind }>

/** `host`: where all services listen. */
export function settingsOf(options: ServerOptions, host: string): Options {
  const settings = defaultOptions({
    blobHost: host,
    blobPort: options.blobPort ?? 0,
    queueHost: host,
    queuePort: options.queuePort ?? 0,
    tableHost: host,
    tablePort: options.tablePort ?? 0,
    fileHost: host,
    filePort: options.filePort ?? 0,
    dfsHost: host,
    dfsPort: options.dfsPort ?? 0,
    smbHost: host,
    smbPort: options.smbPort ?? 0,
    webHost: host,
    webPort: options.webPort ?? 0,
    encryptionScopes: options.encryptionScopes ?? [],
    nameReuseSeconds: options.nameReuseSeconds ?? 0,
    allowedHosts: options.allowedHosts ?? [],
    allowCopyFrom: parseAllowCopyFrom(options.allowCopyFrom ?? []),
    ...(typeof options.seed === 'string' && { seed: options.seed }),
    ...(options.clock === 'held' && { clock: 'held' as const }),
    ...journalSettings(options),
    ...(options.store !== undefined && { store: options.store }),
    ...(options.bytes !== undefined && { bytes: options.bytes }),
    ...(options.allowAsyncCommit !== undefined && { allowAsyncCommit: options.allowAsyncCommit }),
    nodeHost: host,
    nodePort: 0,
    silent: true,
  })
  checkOptions(settings, new Map(options.location === undefined ? [] : [['location', 'flag']]))
  checkAdminOptions(options, host)
  return settings
}

/** Of a fork: in memory, on free ports, with the state that it begins with. A file for the journal has one writer. */
export function forkOptions(options: ServerOptions): ServerOptions {
  const { location: _location, seed: _seed, journal, adminPort, ...others } = options
  return {
    ...others,
    ...FREE_PORTS,
    ...(adminPort !== undefined && { adminPort: 0 }),
    ...(journal !== undefined && { journal: withoutFile(journal) }),
  }
}

const FREE_PORTS = {
  blobPort: 0,
  queuePort: 0,
  tablePort: 0,
  filePort: 0,
  dfsPort: 0,
  smbPort: 0,
  webPort: 0,
} satisfies ServerOptions

function withoutFile(journal: false | JournalOptions): false | JournalOptions {
  if (journal === false) return false
  const { file: _file, ...others } = journal
  return others
}

function journalSettings({ journal = {} }: ServerOptions): Partial<Options> {
  if (journal === false) return { journal: 'off' }
  const { countMax, bytesMax, file, clientBy } = journal
  return {
    ...(countMax !== undefined && { journalCount: countMax }),
    ...(bytesMax !== undefined && { journalMegabytes: bytesMax / MEBIBYTE }),
    ...(file !== undefined && { journalFile: file }),
    ...(clientBy !== undefined && { clientBy }),
  }
}

const MEBIBYTE = 1024 * 1024

function checkAdminOptions({ adminPort, controlToken }: ServerOptions, host: string): void {
  if (adminPort === undefined && controlToken !== undefined)
    throw usageError("'controlToken' can only be used with 'adminPort'")
  if (adminPort !== undefined && controlToken === undefined && !isLoopbackHost(host))
    throw usageError(`'adminPort' needs 'controlToken', since other machines can reach ${host}`)
}
