// Connection settings from a URL, as libpq reads them: `postgres://user@host:port/database?sslmode=…`. Environment
// variables such as PGHOST fill what the URL leaves out.
// https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'

export const SSL_MODES = [
  'disable',
  'allow',
  'prefer',
  'require',
  'verify-ca',
  'verify-full',
] as const

export type SslMode = (typeof SSL_MODES)[number]

/** A host that begins with a slash is the folder of a Unix socket. */
export type HostAddress = { readonly host: string; readonly port: number }

export type ConnectionSettings = {
  /** Tried in order; the first one that accepts writes is used. */
  readonly hosts: readonly HostAddress[]
  readonly user: string
  readonly database: string
  /** From the URL or PGPASSWORD. Otherwise the password file is read at each connection. */
  readonly password?: string
  readonly passwordFile: string
  readonly sslMode: SslMode
  /** PEM files. Those that are not named are used only if they exist. */
  readonly sslRootCert?: string
  readonly sslCert?: string
  readonly sslKey?: string
  /** The folder of libpq's default PEM files. */
  readonly sslFolder: string
  readonly applicationName: string
  /** Whether acknowledged commits may be lost in a crash, if the server is set up so. */
  readonly allowsAsyncCommit?: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

const DEFAULT_PORT = 5_432
const DEFAULT_SOCKET_FOLDER = '/var/run/postgresql'

/** Names of parameters, and the environment variable that each falls back to. */
const PARAMETERS: Readonly<Record<string, string | undefined>> = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  dbname: 'PGDATABASE',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  application_name: 'PGAPPNAME',
  target_session_attrs: undefined,
}

export function connectionSettings(url: string, environment: Environment): ConnectionSettings {
  const given = parseUrl(url)
  const get = (name: string): string | undefined => {
    const fallback = PARAMETERS[name]
    return nonEmpty(given.get(name)) ?? (fallback && nonEmpty(environment[fallback]))
  }
  checkTarget(given.get('target_session_attrs'))
  const user = get('user') ?? userInfo().username
  const home = environment['HOME'] ?? homedir()
  const [password, sslRootCert, sslCert, sslKey] = ['password', 'sslrootcert', 'sslcert', 'sslkey'].map(get) // prettier-ignore
  return {
    hosts: hostsOf(get('host'), get('port')),
    user,
    database: get('dbname') ?? user,
    ...(password !== undefined && { password }),
    passwordFile: get('passfile') ?? join(home, '.pgpass'),
    sslMode: sslModeOf(get('sslmode'), sslRootCert),
    ...(sslRootCert !== undefined && { sslRootCert }),
    ...(sslCert !== undefined && { sslCert }),
    ...(sslKey !== undefined && { sslKey }),
    sslFolder: join(home, '.postgresql'),
    applicationName: get('application_name') ?? 'lazuli',
  }
}

/** The settings as text for messages, without the password. */
export function settingsText({ hosts, user, database }: ConnectionSettings): string {
  const names = hosts.map(({ host, port }) => `${host}:${port}`)
  return `postgres://${user}@${names.join()}/${database}`
}

// Not `URL`: it refuses lists of hosts.
const URL_PATTERN = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/

function parseUrl(url: string): ReadonlyMap<string, string> {
  const match = URL_PATTERN.exec(url)
  if (match === null) throw new Error('The URL of the database must look like postgres://user@host:port/database.') // prettier-ignore
  const [, credentials = '', hosts = '', database = '', query = ''] = match
  const found = new Map<string, string>()
  const set = (name: string, value: string): void => {
    if (value !== '') found.set(name, decode(value))
  }
  const [user = '', ...password] = credentials.split(':')
  set('user', user)
  set('password', password.join(':'))
  set('dbname', database)
  const addresses = hosts.split(',').map(splitAddress)
  set('host', addresses.map(([host]) => host).join())
  if (addresses.some(([, port]) => port !== '')) {
    set('port', addresses.map(([, port]) => port).join())
  }
  for (const each of query === '' ? [] : query.split('&')) {
    const [name = '', ...value] = each.split('=')
    if (!(name in PARAMETERS)) throw new Error(`Unknown parameter "${name}" in the URL of the database.`) // prettier-ignore
    set(name, value.join('='))
  }
  return found
}

/** IPv6 addresses are in brackets. */
function splitAddress(address: string): readonly [host: string, port: string] {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(address)
  if (match === null) throw new Error(`"${address}" in the URL of the database is not a host.`)
  return [match[1] ?? match[2] ?? '', match[3] ?? '']
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('The URL of the database has an incomplete percent-encoding.')
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

/** One port serves all hosts. */
function hostsOf(hosts = DEFAULT_SOCKET_FOLDER, ports = ''): readonly HostAddress[] {
  const [names, numbers] = [hosts.split(','), ports.split(',')]
  if (numbers.length !== 1 && numbers.length !== names.length) {
    throw new Error('The URL of the database must have one port, or one for each host.')
  }
  return names.map((host, at) => ({ host, port: portOf(numbers[at] ?? numbers[0] ?? '') }))
}

function portOf(text: string): number {
  const port = text === '' ? DEFAULT_PORT : Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`"${text}" is not a port of a database.`)
  }
  return port
}

/** `sslrootcert=system` implies verify-full, as in libpq 16. */
function sslModeOf(text: string | undefined, rootCert: string | undefined): SslMode {
  if (text === undefined) return rootCert === 'system' ? 'verify-full' : 'prefer'
  const mode = SSL_MODES.find((each) => each === text)
  if (mode === undefined) throw new Error(`sslmode=${text} is not one of ${SSL_MODES.join(', ')}.`)
  if (rootCert === 'system' && mode !== 'verify-full') {
    throw new Error(`sslrootcert=system needs sslmode=verify-full, not ${mode}.`)
  }
  return mode
}

/** Only a primary will do: standbys refuse writes, and their reads may be stale. */
function checkTarget(target: string | undefined): void {
  if (target === undefined || ['any', 'read-write', 'primary'].includes(target)) return
  throw new Error(`target_session_attrs=${target} would use a standby; only a primary will do.`)
}
