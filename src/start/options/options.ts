// Every setting of Lazuli in one table: its flag is the row's name, its environment variable is
// LAZULI_ and the name in capitals, its key in lazuli.json is the name. Azurite's flags keep their
// spelling and meaning. Decoding, the help text and the `Options` type are all read from this table.
import { isLoopback } from '../host.ts'
import { usageError } from '../start-error.ts'
import {
  choiceSetting,
  copyPatternListSetting,
  encryptionScopesSetting,
  hostListSetting,
  hostSetting,
  nameListSetting,
  megabytesSetting,
  portSetting,
  secondsSetting,
  switchSetting,
  textSetting,
  type Setting,
} from './setting.ts'

const LISTEN = 'Where to listen'
const STORE = 'Where data lives'
const HTTPS = 'HTTPS'
const ACCESS = 'Who may ask, and how'
const LOGS = 'What is said'

// prettier-ignore
export const SETTINGS = {
  blobHost: hostSetting({ group: LISTEN, help: 'address of the blob service' }),
  blobPort: portSetting(10_000, { group: LISTEN, help: 'port of the blob service; 0 is any free one' }),
  blobKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'how long an idle connection stays open' }),
  webHost: hostSetting({ group: LISTEN, help: 'address of static websites ($web)' }),
  webPort: portSetting(10_004, { group: LISTEN, help: 'port of static websites' }),
  queueHost: hostSetting({ group: LISTEN, help: 'address of the queue service' }),
  queuePort: portSetting(10_001, { group: LISTEN, help: 'port of the queue service' }),
  queueKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'how long an idle connection stays open' }),
  tableHost: hostSetting({ group: LISTEN, help: 'address of the table service' }),
  tablePort: portSetting(10_002, { group: LISTEN, help: 'port of the table service' }),
  tableKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'how long an idle connection stays open' }),
  fileHost: hostSetting({ group: LISTEN, help: 'address of the file service' }),
  filePort: portSetting(10_003, { group: LISTEN, help: 'port of the file service' }),
  fileKeepAliveTimeout: secondsSetting(5, { group: LISTEN, help: 'how long an idle connection stays open' }),
  smbHost: hostSetting({ group: LISTEN, help: 'address of file shares over SMB' }),
  smbPort: portSetting(10_445, { group: LISTEN, help: 'port of file shares over SMB' }),
  smbEncryption: choiceSetting(['required', 'enabled', 'off'], 'enabled', { group: LISTEN, help: 'required refuses SMB clients that do not encrypt' }),
  smbSigning: choiceSetting(['required', 'enabled'], 'enabled', { group: LISTEN, help: 'required refuses SMB messages that are not signed' }),
  adminHost: hostSetting({ group: LISTEN, help: 'address of health and metrics, without authentication' }),
  adminPort: portSetting(10_010, { group: LISTEN, help: 'port of health and metrics' }),

  location: textSetting({ group: STORE, short: 'l', help: 'folder of the data; ./.lazuli if not given' }, 'FOLDER'),
  inMemoryPersistence: switchSetting({ group: STORE, help: 'keep everything in memory, write nothing' }),
  extentMemoryLimit: megabytesSetting({ group: STORE, help: 'memory for content with --inMemoryPersistence; half of the RAM if not given' }),
  encryptionScopes: encryptionScopesSetting({ group: STORE, help: 'encryption scopes that every account has; a new one gets a random key' }),
  nameReuseSeconds: secondsSetting(0, { group: STORE, help: 'how long the name of what is deleted stays taken; 30 is like Azure' }),

  https: choiceSetting(['auto', 'off'], 'off', { group: HTTPS, help: 'auto makes a CA and a certificate and keeps them in the location' }),
  httpsNames: hostListSetting({ group: HTTPS, help: 'further names for the certificate of --https auto' }),
  cert: textSetting({ group: HTTPS, help: 'certificate (PEM or PFX)' }, 'FILE'),
  key: textSetting({ group: HTTPS, help: 'private key of a PEM certificate' }, 'FILE'),
  pwd: textSetting({ group: HTTPS, help: 'password of a PFX, or of the key' }, 'PASSWORD'),

  accountsFile: textSetting({ group: ACCESS, help: 'file of accounts (name:key1[:key2], one a line), read again when it changes' }, 'FILE'),
  smbUsersFile: textSetting({ group: ACCESS, help: 'SMB users (user:account:password, one a line), read again when it changes' }, 'FILE'),
  oauth: choiceSetting(['basic'], undefined, { group: ACCESS, help: 'accept bearer tokens; without --oauthIssuer also forged ones' }),
  oauthIssuer: textSetting({ group: ACCESS, help: 'the only issuer whose tokens are accepted' }, 'URL'),
  oauthAcceptForgedTokens: switchSetting({ group: ACCESS, help: 'accept forged tokens even where other machines reach the server' }),
  oauthJwks: textSetting({ group: ACCESS, help: 'keys that the signatures of tokens are checked with' }, 'URL|FILE'),
  allowedHosts: nameListSetting({ group: ACCESS, help: 'names that requests may carry as their host; each includes those below it' }),
  allowCopyFrom: copyPatternListSetting({ group: ACCESS, help: 'other servers that copies may read from, such as https://*.example.com' }),
  strictApiVersion: switchSetting({ group: ACCESS, help: 'refuse a version of the API that Azure does not know' }),
  skipApiVersionCheck: switchSetting({ group: ACCESS, envAlias: 'AZURITE_SKIP_API_VERSION_CHECK', help: 'accept any version of the API, as is the default (for Azurite)' }),
  loose: switchSetting({ group: ACCESS, short: 'L', help: 'ignore headers and parameters that are not supported' }),
  disableProductStyleUrl: switchSetting({ group: ACCESS, help: 'take the account always from the path, never from the host' }),
  disableTelemetry: switchSetting({ group: ACCESS, help: 'there is none (for Azurite)' }),

  silent: switchSetting({ group: LOGS, short: 's', help: 'no access log' }),
  log: choiceSetting(['text', 'json'], 'text', { group: LOGS, help: 'form of the log' }),
  logLevel: choiceSetting(['error', 'warn', 'info', 'debug'], 'info', { group: LOGS, help: 'the least severe that is logged' }),
  debug: textSetting({ group: LOGS, short: 'd', help: 'write a debug log to a file' }, 'FILE'),
} as const

export type SettingName = keyof typeof SETTINGS

type ValueOf<S> = S extends Setting<infer T> ? T : never

/** All settings, decoded and checked. */
export type Options = { readonly [K in SettingName]: ValueOf<(typeof SETTINGS)[K]> }

/** Where a value was given; the first wins. */
export type Source = 'flag' | 'env' | 'file'

export type Given = ReadonlyMap<SettingName, Source>

export const SETTING_NAMES: readonly SettingName[] = Object.keys(SETTINGS).filter(isSettingName)

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name)
}

/** blobHost → LAZULI_BLOB_HOST */
export function envName(name: string): string {
  return `LAZULI_${name.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
}

/** Options as they are when nothing is given but `values`; for servers started from code. */
export function defaultOptions(values: Partial<Options> = {}): Options {
  const defaults = SETTING_NAMES.map((name) => [name, SETTINGS[name].default])
  return { ...(Object.fromEntries(defaults) as Options), ...values }
}

/** Memory for content in memory: what is asked for or, as in Azurite, half of the machine's. */
export function extentMemoryLimitBytes(options: Options, totalMemoryBytes: number): number {
  if (options.extentMemoryLimit === undefined) return Math.floor(totalMemoryBytes / 2)
  return Math.round(options.extentMemoryLimit * 1024 * 1024)
}

// Settings that make no sense together are refused: none is accepted and then ignored.
// prettier-ignore
const CONTRADICTIONS: readonly (readonly [(o: Options, given: Given) => boolean, string])[] = [
  [(o, given) => o.inMemoryPersistence && locationStands(given), '--inMemoryPersistence writes nothing, so it cannot be used with --location'],
  [(o) => !o.inMemoryPersistence && o.extentMemoryLimit !== undefined, '--extentMemoryLimit can only be used with --inMemoryPersistence'],
  [(o) => o.strictApiVersion && o.skipApiVersionCheck, '--strictApiVersion and --skipApiVersionCheck contradict each other'],
  [(o) => o.https === 'auto' && o.cert !== undefined, '--https auto makes a certificate, so it cannot be used with --cert'],
  [(o) => o.https !== 'auto' && o.httpsNames.length > 0, '--httpsNames can only be used with --https auto'],
  [(o) => o.cert === undefined && o.key !== undefined, '--key can only be used with --cert'],
  [(o) => o.cert === undefined && o.pwd !== undefined, '--pwd can only be used with --cert'],
  [(o) => o.oauth === undefined && o.oauthIssuer !== undefined, '--oauthIssuer can only be used with --oauth basic'],
  [(o) => o.oauth === undefined && o.oauthJwks !== undefined, '--oauthJwks can only be used with --oauth basic'],
  [(o) => o.oauthIssuer === undefined && o.oauthJwks !== undefined, '--oauthJwks needs --oauthIssuer: its keys may sign the tokens of other issuers too'],
  [(o) => o.oauth === undefined && o.oauthAcceptForgedTokens, '--oauthAcceptForgedTokens can only be used with --oauth basic'],
  [(o) => o.oauthIssuer !== undefined && o.oauthAcceptForgedTokens, '--oauthIssuer checks signatures, so it cannot be used with --oauthAcceptForgedTokens'],
  [(o) => acceptsForgedTokens(o) && !o.oauthAcceptForgedTokens && httpHosts(o).some((host) => !isLoopback(host)),
    '--oauth basic does not check signatures, so whoever reaches the server can forge a token: add --oauthIssuer, listen on 127.0.0.1, or permit it with --oauthAcceptForgedTokens'],
]

export function checkOptions(options: Options, given: Given): void {
  for (const [contradicts, message] of CONTRADICTIONS) {
    if (contradicts(options, given)) throw usageError(message)
  }
}

/** Host names by which clients reach the server, as far as the settings tell. */
export function allowedHosts(options: Options): readonly string[] {
  const { webHost, adminHost } = options
  return [...options.allowedHosts, ...options.httpsNames, ...httpHosts(options), webHost, adminHost]
}

/** Without keys nothing tells a real token from a made-up one. */
export function acceptsForgedTokens({ oauth, oauthIssuer }: Options): boolean {
  return oauth !== undefined && oauthIssuer === undefined
}

function httpHosts({ blobHost, queueHost, tableHost, fileHost }: Options): readonly string[] {
  return [blobHost, queueHost, tableHost, fileHost]
}

// An image may set LAZULI_LOCATION and its user still ask for memory with a flag: the nearer wins.
function locationStands(given: Given): boolean {
  const rank = (name: SettingName): number =>
    ['file', 'env', 'flag'].indexOf(given.get(name) ?? 'none')
  return rank('location') >= 0 && rank('location') >= rank('inMemoryPersistence')
}
