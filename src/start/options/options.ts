// The table of all settings. The name of a row is the flag and the key in lazuli.json; the environment variable is
// LAZULI_ and the name in capitals. Azurite's flags keep their spelling and meaning. Decoding, the help text and the
// `Options` type are derived from this table.
import { JOURNAL_BYTES_MAX, JOURNAL_COUNT_MAX } from '../../control/journal.ts'
import { isLoopbackHost } from '../host.ts'
import {
  checkContainerName,
  checkQueueName,
  checkShareName,
  checkTableName,
} from '../../storage/shared/name.ts'
import { usageError } from '../start-error.ts'
import {
  choiceSetting,
  clientSourcesSetting,
  countSetting,
  copyPatternListSetting,
  encryptionScopesSetting,
  hostListSetting,
  hostSetting,
  nameListSetting,
  offsetSetting,
  optionalHostSetting,
  originsSetting,
  resourceNamesSetting,
  megabytesSetting,
  optionalSwitchSetting,
  portSetting,
  secondsSetting,
  servicesSetting,
  switchSetting,
  textSetting,
  tokenSetting,
  type Setting,
} from './setting.ts'

const LISTEN = 'Addresses and ports'
const STORE = 'Storage'
const HTTPS = 'HTTPS'
const ACCESS = 'Authentication and access'
const LOGS = 'Logging'

const MEBIBYTE = 1024 * 1024

// prettier-ignore
export const SETTINGS = {
  services: servicesSetting({ group: LISTEN, help: 'what to start (default all): blob, queue, table, file, dfs, smb, web' }),
  host: optionalHostSetting({ group: LISTEN, help: 'address of all services; each may have its own' }),
  portOffset: offsetSetting({ group: LISTEN, help: 'added to all ports that are not given' }),
  blobHost: hostSetting({ group: LISTEN, help: 'address of the Blob service' }),
  blobPort: portSetting(10_000, { group: LISTEN, help: 'port of the Blob service; 0 picks a free port' }),
  blobKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'seconds until an idle connection is closed' }),
  webHost: hostSetting({ group: LISTEN, help: 'address of static websites ($web)' }),
  webPort: portSetting(10_004, { group: LISTEN, help: 'port of static websites' }),
  queueHost: hostSetting({ group: LISTEN, help: 'address of the Queue service' }),
  queuePort: portSetting(10_001, { group: LISTEN, help: 'port of the Queue service' }),
  queueKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'seconds until an idle connection is closed' }),
  tableHost: hostSetting({ group: LISTEN, help: 'address of the Table service' }),
  tablePort: portSetting(10_002, { group: LISTEN, help: 'port of the Table service' }),
  tableKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'seconds until an idle connection is closed' }),
  fileHost: hostSetting({ group: LISTEN, help: 'address of the File service' }),
  filePort: portSetting(10_003, { group: LISTEN, help: 'port of the File service' }),
  fileKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'seconds until an idle connection is closed' }),
  dfsHost: hostSetting({ group: LISTEN, help: 'address of Data Lake Storage' }),
  dfsPort: portSetting(10_005, { group: LISTEN, help: 'port of Data Lake Storage; the Blob port answers it too' }),
  dfsKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'seconds until an idle connection is closed' }),
  smbHost: hostSetting({ group: LISTEN, help: 'address of the SMB server for file shares' }),
  smbPort: portSetting(10_445, { group: LISTEN, help: 'port of the SMB server' }),
  smbEncryption: choiceSetting(['required', 'enabled', 'off'], 'enabled', { group: LISTEN, help: '"required" rejects SMB clients that do not encrypt' }),
  smbSigning: choiceSetting(['required', 'enabled'], 'enabled', { group: LISTEN, help: '"required" rejects unsigned SMB messages' }),
  adminHost: hostSetting({ group: LISTEN, help: 'address of health checks, metrics and control' }),
  adminPort: portSetting(10_010, { group: LISTEN, help: 'port of health checks, metrics and control' }),
  nodeHost: hostSetting({ group: LISTEN, help: 'address at which other nodes of --store reach this one' }),
  nodePort: portSetting(10_011, { group: LISTEN, help: 'port for other nodes of --store' }),
  nodeName: textSetting({ group: LISTEN, help: 'name of this node in lists and logs (default the host name)' }, 'NAME'),

  location: textSetting({ group: STORE, short: 'l', help: 'data folder (default ./.lazuli)' }, 'FOLDER'),
  store: textSetting({ group: STORE, help: 'a PostgreSQL database instead of a folder; several servers may use it' }, 'postgres://USER@HOST/DATABASE'),
  bytes: textSetting({ group: STORE, help: 'where content goes with --store (default postgres)' }, 'postgres|folder:PATH'),
  allowAsyncCommit: switchSetting({ group: STORE, help: 'accept a database with synchronous_commit=off, which may lose writes' }),
  inMemoryPersistence: switchSetting({ group: STORE, help: 'keep all data in memory and write nothing to disk' }),
  extentMemoryLimit: megabytesSetting({ group: STORE, help: 'limit for content with --inMemoryPersistence (default half of the RAM)' }),
  encryptionScopes: encryptionScopesSetting({ group: STORE, help: 'encryption scopes to create in every account, each with a random key' }),
  nameReuseSeconds: secondsSetting(0, { group: STORE, help: 'how long the name of a deleted resource stays reserved; 30 as in Azure' }),
  seed: textSetting({ group: STORE, help: 'folder with what an empty store begins with' }, 'FOLDER'),
  containers: resourceNamesSetting(checkContainerName, { group: STORE, help: 'containers to create in every account at start' }),
  queues: resourceNamesSetting(checkQueueName, { group: STORE, help: 'queues to create in every account at start' }),
  tables: resourceNamesSetting(checkTableName, { group: STORE, help: 'tables to create in every account at start' }),
  shares: resourceNamesSetting(checkShareName, { group: STORE, help: 'file shares to create in every account at start' }),
  clock: choiceSetting(['running', 'held'], 'running', { group: STORE, help: '"held": the time stands still until somebody advances it' }),

  https: choiceSetting(['auto', 'off'], 'off', { group: HTTPS, help: '"auto" creates a CA and a certificate in the data folder' }),
  httpsNames: hostListSetting({ group: HTTPS, help: 'additional names for the certificate of --https auto' }),
  allowHttp: switchSetting({ group: HTTPS, help: 'with --https auto or --cert: accept HTTP on the same ports, too' }),
  cert: textSetting({ group: HTTPS, help: 'certificate (PEM or PFX)' }, 'FILE'),
  key: textSetting({ group: HTTPS, help: 'private key of a PEM certificate' }, 'FILE'),
  pwd: textSetting({ group: HTTPS, help: 'password of the PFX or of the private key' }, 'PASSWORD'),

  accountsFile: textSetting({ group: ACCESS, help: 'accounts, one name:key1[:key2][:hns=true] per line; reloaded when it changes' }, 'FILE'),
  smbUsersFile: textSetting({ group: ACCESS, help: 'SMB users, one user:account:password per line; reloaded when it changes' }, 'FILE'),
  oauth: choiceSetting(['basic'], undefined, { group: ACCESS, help: 'accept bearer tokens; without --oauthIssuer, signatures are not checked' }),
  oauthIssuer: textSetting({ group: ACCESS, help: 'accept only tokens that are signed by this issuer' }, 'URL'),
  oauthAcceptForgedTokens: switchSetting({ group: ACCESS, help: 'allow unchecked tokens even if other machines can reach the server' }),
  oauthJwks: textSetting({ group: ACCESS, help: 'keys to check token signatures with' }, 'URL|FILE'),
  allowedHosts: nameListSetting({ group: ACCESS, help: 'additional host names that requests may use, with their subdomains' }),
  cors: originsSetting({ group: ACCESS, help: 'origins that may use all services from web pages: * or https://a.example' }),
  allowCopyFrom: copyPatternListSetting({ group: ACCESS, help: 'servers that copies may read from, such as https://*.example.com' }),
  strictApiVersion: switchSetting({ group: ACCESS, help: 'reject API versions that Azure does not have' }),
  skipApiVersionCheck: switchSetting({ group: ACCESS, envAlias: 'AZURITE_SKIP_API_VERSION_CHECK', help: 'accept any API version, which is the default (for Azurite)' }),
  control: optionalSwitchSetting({ group: ACCESS, help: 'allow changes by the admin port (default on 127.0.0.1 only)' }),
  controlToken: tokenSetting({ group: ACCESS, help: 'token for the journal and control, on any address' }),
  loose: switchSetting({ group: ACCESS, short: 'L', help: 'ignore unsupported headers and parameters' }),
  disableProductStyleUrl: switchSetting({ group: ACCESS, help: 'always take the account from the path, never from the host name' }),
  disableTelemetry: switchSetting({ group: ACCESS, help: 'no effect: there is no telemetry (for Azurite)' }),

  silent: switchSetting({ group: LOGS, short: 's', help: 'print only errors and the lines that tools wait for' }),
  log: choiceSetting(['text', 'json'], 'text', { group: LOGS, help: 'log format' }),
  logLevel: choiceSetting(['error', 'warn', 'info', 'debug'], 'info', { group: LOGS, help: 'lowest severity to log' }),
  journal: choiceSetting(['on', 'off'], 'on', { group: LOGS, help: 'keep the last requests in memory, with what they collided with' }),
  journalCount: countSetting(JOURNAL_COUNT_MAX, 10_000_000, { group: LOGS, help: 'how many requests the journal keeps' }),
  journalMegabytes: megabytesSetting({ group: LOGS, help: 'how much memory the journal may take' }, JOURNAL_BYTES_MAX / MEBIBYTE),
  journalFile: textSetting({ group: LOGS, help: 'also write the journal to this file, as JSON lines' }, 'FILE'),
  clientBy: clientSourcesSetting({ group: LOGS, help: 'what names a client in the journal (default name,requestId,connection)' }),
  debug: textSetting({ group: LOGS, short: 'd', help: 'also write a debug log to this file' }, 'FILE'),
} as const

export type SettingName = keyof typeof SETTINGS

type ValueOf<S> = S extends Setting<infer T> ? T : never

/** All settings, decoded and checked. */
export type Options = { readonly [K in SettingName]: ValueOf<(typeof SETTINGS)[K]> }

/** Where a value was given; the first wins. */
export type SettingSource = 'flag' | 'env' | 'file'

export type Given = ReadonlyMap<SettingName, SettingSource>

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS).filter(isSettingName)

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name)
}

/** blobHost → LAZULI_BLOB_HOST */
export function envName(name: string): string {
  return `LAZULI_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
}

/** The defaults, overridden by `values`; for servers started from code. */
export function defaultOptions(values: Partial<Options> = {}): Options {
  const defaults = SETTING_NAMES.map((name) => [name, SETTINGS[name].default])
  return { ...(Object.fromEntries(defaults) as Options), ...values }
}

/** The limit for content in memory: the given one or, as in Azurite, half of the machine's memory. */
export function extentMemoryLimitBytes(options: Options, totalMemoryBytes: number): number {
  if (options.extentMemoryLimit === undefined) return Math.floor(totalMemoryBytes / 2)
  return Math.round(options.extentMemoryLimit * MEBIBYTE)
}

/** undefined: no journal is kept. */
export function journalLimits(
  options: Pick<Options, 'journal' | 'journalCount' | 'journalMegabytes'>,
): { readonly countMax: number; readonly bytesMax: number } | undefined {
  if (options.journal === 'off') return undefined
  const bytesMax = Math.round(options.journalMegabytes * MEBIBYTE)
  return { countMax: options.journalCount, bytesMax }
}

// Combinations of settings that are refused, so that no setting is silently ignored.
// prettier-ignore
const CONTRADICTIONS: readonly (readonly [(o: Options, given: Given) => boolean, string])[] = [
  [(o, given) => o.inMemoryPersistence && locationApplies(given, 'inMemoryPersistence'), '--inMemoryPersistence writes nothing to disk, so it cannot be used with --location'],
  [(o, given) => o.store !== undefined && locationApplies(given, 'store'), '--store keeps all data in the database, so it cannot be used with --location'],
  [(o) => o.store !== undefined && o.inMemoryPersistence, '--store keeps all data in the database, so it cannot be used with --inMemoryPersistence'],
  [(o) => o.store !== undefined && o.https === 'auto', '--https auto creates a certificate in the data folder; with --store, use --cert'],
  [(o) => o.store !== undefined && !isPostgresUrl(o.store), '--store must be the URL of a PostgreSQL database: postgres://user@host/database'],
  [(o) => o.store === undefined && o.bytes !== undefined, '--bytes can only be used with --store'],
  [(o) => o.bytes !== undefined && bytesFolder(o.bytes) === undefined && o.bytes !== 'postgres', '--bytes must be postgres or folder:PATH'],
  [(o) => o.store === undefined && o.allowAsyncCommit, '--allowAsyncCommit can only be used with --store'],
  [(o, given) => o.store === undefined && (given.get('nodeHost') ?? given.get('nodePort') ?? given.get('nodeName')) === 'flag', '--nodeHost, --nodePort and --nodeName can only be used with --store'],
  [(o) => o.store !== undefined && (o.nodeHost === '0.0.0.0' || o.nodeHost === '::'), '--nodeHost must be an address at which other nodes reach this one, so it cannot be 0.0.0.0 or ::'],
  [(o) => !o.inMemoryPersistence && o.extentMemoryLimit !== undefined, '--extentMemoryLimit can only be used with --inMemoryPersistence'],
  [(o) => o.store !== undefined && o.clock === 'held', '--store uses the time of the database, so it cannot be used with --clock held'],
  [(o) => o.store !== undefined && o.seed !== undefined, '--seed fills the store of one server, so it cannot be used with --store'],
  [(o) => o.store !== undefined && o.shares.length > 0, '--shares needs the node that serves the shares, so it cannot be used with --store'],
  [(o) => o.strictApiVersion && o.skipApiVersionCheck, '--strictApiVersion and --skipApiVersionCheck contradict each other; use only one of them'],
  [(o) => o.https === 'auto' && o.cert !== undefined, '--https auto creates a certificate, so it cannot be used with --cert'],
  [(o) => o.https !== 'auto' && o.httpsNames.length > 0, '--httpsNames can only be used with --https auto'],
  [(o) => o.https !== 'auto' && o.cert === undefined && o.allowHttp, '--allowHttp can only be used with --https auto or --cert: without them, there is only HTTP'],
  [(o) => o.cert === undefined && o.key !== undefined, '--key can only be used with --cert'],
  [(o) => o.cert === undefined && o.pwd !== undefined, '--pwd can only be used with --cert'],
  [(o) => o.oauth === undefined && o.oauthIssuer !== undefined, '--oauthIssuer can only be used with --oauth basic'],
  [(o) => o.oauth === undefined && o.oauthJwks !== undefined, '--oauthJwks can only be used with --oauth basic'],
  [(o) => o.oauthIssuer === undefined && o.oauthJwks !== undefined, '--oauthJwks needs --oauthIssuer, since its keys may also sign tokens of other issuers'],
  [(o) => o.oauth === undefined && o.oauthAcceptForgedTokens, '--oauthAcceptForgedTokens can only be used with --oauth basic'],
  [(o) => o.oauthIssuer !== undefined && o.oauthAcceptForgedTokens, '--oauthIssuer checks signatures, so it cannot be used with --oauthAcceptForgedTokens'],
  [(o) => o.journal === 'off' && o.journalFile !== undefined, '--journalFile needs the journal, so it cannot be used with --journal off'],
  [(o, given) => o.journal === 'off' && (given.has('journalCount') || given.has('journalMegabytes')), '--journalCount and --journalMegabytes cannot be used with --journal off'],
  [(o) => acceptsForgedTokens(o) && !o.oauthAcceptForgedTokens && httpHosts(o).some((host) => !isLoopbackHost(host)),
    '--oauth basic does not check signatures, so anyone who can reach the server can forge a token; add --oauthIssuer, listen on 127.0.0.1, or allow it with --oauthAcceptForgedTokens'],
]

export function checkOptions(options: Options, given: Given): void {
  for (const [contradicts, message] of CONTRADICTIONS) {
    if (contradicts(options, given)) throw usageError(message)
  }
}

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text)
}

/** The folder of `--bytes folder:PATH`. */
export function bytesFolder(bytes: string | undefined): string | undefined {
  return /^folder:(.+)$/s.exec(bytes ?? '')?.[1]
}

/** The host names that the settings mention. */
export function allowedHosts(options: Options): readonly string[] {
  const { webHost, adminHost } = options
  return [...options.allowedHosts, ...options.httpsNames, ...httpHosts(options), webHost, adminHost]
}

/** Without an issuer there are no keys to check signatures with. */
export function acceptsForgedTokens({ oauth, oauthIssuer }: Options): boolean {
  return oauth !== undefined && oauthIssuer === undefined
}

function httpHosts(options: Options): readonly string[] {
  const { blobHost, queueHost, tableHost, fileHost, dfsHost } = options
  return [blobHost, queueHost, tableHost, fileHost, dfsHost]
}

/** LAZULI_LOCATION of an image yields to whatever else its user gives, by flag or environment. */
function locationApplies(given: Given, other: SettingName): boolean {
  const rank = (name: SettingName): number =>
    ['file', 'env', 'flag'].indexOf(given.get(name) ?? 'none')
  if (given.get('location') === 'env' && given.get(other) === 'env') return false
  return rank('location') >= 0 && rank('location') >= rank(other)
}
