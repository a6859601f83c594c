// The lines that are printed at start and shutdown. Testcontainers and others wait for "Blob service is successfully
// listening", and tools for Azurite compare whole lines, so under Azurite's names the lines are exactly Azurite's.
import type { Account } from '../../storage/shared/account.ts'
import type { SmbIdentity } from '../../storage/file/security/smb-identity.ts'
import { WELL_KNOWN_KEY } from '../account/account-list.ts'
import type { EndpointName, Program } from '../options/services.ts'
import { connectHost, urlOf } from '../host.ts'

export const TITLES: Readonly<Record<EndpointName, string>> = {
  blob: 'Blob',
  queue: 'Queue',
  table: 'Table',
  file: 'File',
  dfs: 'DFS',
  smb: 'SMB',
}

export type Endpoint = {
  readonly service: EndpointName
  readonly protocol: 'http' | 'https' | 'smb'
  /** The address that it listens on, such as 0.0.0.0. */
  readonly host: string
  readonly port: number
}

export function startingLine(program: Program, endpoint: Endpoint): string {
  const subject = `${nameOf(program, endpoint.service)} is starting`
  if (isSingle(program)) return `${subject} on ${endpoint.host}:${endpoint.port}`
  return `${subject} at ${endpointUrl(endpoint)}`
}

export function listeningLine(program: Program, endpoint: Endpoint): string {
  const subject = nameOf(program, endpoint.service)
  if (program === 'azurite-table') {
    return `${subject} successfully started on ${endpoint.host}:${endpoint.port}`
  }
  if (isSingle(program)) return `${subject} successfully listens on ${endpointUrl(endpoint)}`
  return `${subject} is successfully listening at ${endpointUrl(endpoint)}`
}

export function closingLine(program: Program, service: EndpointName): string {
  return `${nameOf(program, service)} is closing...`
}

export function closedLine(program: Program, service: EndpointName): string {
  return `${nameOf(program, service)} successfully closed`
}

/** Azurite's line for --inMemoryPersistence. */
export function memoryLine(limitBytes: number, totalMemoryBytes: number): string {
  const megabytes = (limitBytes / 1024 / 1024).toFixed(2)
  const percent = Math.round((100 * limitBytes) / totalMemoryBytes)
  return (
    `In-memory extent storage is enabled with a limit of ${megabytes} MB ` +
    `(${limitBytes} bytes, ${percent}% of total memory).`
  )
}

function nameOf(program: Program, service: EndpointName): string {
  return `${program === 'lazuli' ? 'Lazuli' : 'Azurite'} ${TITLES[service]} service`
}

function isSingle(program: Program): boolean {
  return program !== 'lazuli' && program !== 'azurite'
}

function endpointUrl({ protocol, host, port }: Endpoint): string {
  return protocol === 'smb' ? `smb://${host}:${port}` : urlOf(protocol, host, port)
}

export type Banner = {
  readonly version: string
  readonly endpoints: readonly Endpoint[]
  readonly adminUrl: string
  /** Where static websites (the container $web of an account) are served; undefined if they are not. */
  readonly websiteUrl: string | undefined
  /** The ports that are not the usual ones: what, and why. */
  readonly moved: readonly string[]
  /** undefined: in memory. */
  readonly location: string | undefined
  readonly accounts: readonly Account[]
  /** Printed with their SIDs, which permissions refer to. */
  readonly smbUsers?: readonly SmbIdentity[]
  /** HTTP on the same ports, too. */
  readonly allowsHttp: boolean
  /** The CA of `--https auto`; without a path if it is only in memory. */
  readonly ca: { readonly path: string | undefined } | undefined
  readonly platform: string
}

/** For people: the endpoints, a connection string to copy, and the data folder. */
export function bannerLines(banner: Banner): readonly string[] {
  const { version, endpoints, adminUrl, websiteUrl, location, accounts } = banner
  const [account] = accounts
  const row = (title: string, text: string): string => `  ${title.padEnd(9)}  ${text}`
  return [
    '',
    `Lazuli ${version}`,
    '',
    ...endpoints.map((endpoint) => row(TITLES[endpoint.service], accountUrl(endpoint, account))),
    ...(websiteUrl === undefined ? [] : [row('Website', websiteUrl)]),
    row('Console', `${adminUrl}/`),
    row('Admin', `${adminUrl}/health/ready and ${adminUrl}/metrics`),
    ...(banner.allowsHttp ? [row('HTTP', 'accepted on the same ports, too')] : []),
    ...banner.moved.map((text) => row('Moved', text)),
    row('Location', location ?? 'in memory, lost when the server stops'),
    row('Accounts', accounts.map(({ name }) => name).join(', ')),
    ...userTexts(banner.smbUsers ?? []).map((text) => row('SMB user', text)),
    ...shownAccounts(accounts).flatMap((each) => ['', connectionString(endpoints, each)]),
    ...caLines(banner),
    '',
  ]
}

/** The same for the log as JSON. */
export function bannerFields(banner: Banner): Readonly<Record<string, unknown>> {
  const { version, endpoints, adminUrl, websiteUrl, moved, location, accounts } = banner
  return {
    version,
    endpoints: Object.fromEntries(endpoints.map((each) => [each.service, reachableUrl(each)])),
    websiteUrl,
    adminUrl,
    location: location ?? 'memory',
    accounts: accounts.map(({ name }) => name),
    ...(banner.smbUsers && { smbUsers: banner.smbUsers.map(({ name, sid }) => ({ name, sid })) }),
    ...(moved.length > 0 && { moved }),
    ...(banner.ca !== undefined && { ca: banner.ca.path ?? `${adminUrl}/ca.pem` }),
  }
}

/** The last line of a start. */
export function readyLine(adminUrl: string): string {
  return `Lazuli is ready; its console is at ${adminUrl}/`
}

export function controlTokenLine(token: string): string {
  return `Lazuli made a token for the journal and control: ${token}`
}

/** The first account, and the first one with a hierarchical namespace. */
function shownAccounts(accounts: readonly Account[]): readonly Account[] {
  const lake = accounts.find(({ isHierarchical }) => isHierarchical === true)
  return [...new Set([accounts[0], lake])].flatMap((account) => account ?? [])
}

const USERS_SHOWN_MAX = 20

function userTexts(users: readonly SmbIdentity[]): readonly string[] {
  const shown = users.slice(0, USERS_SHOWN_MAX).map(({ name, sid }) => `${name}, ${sid}`)
  const others = users.length - shown.length
  return others === 0 ? shown : [...shown, `and ${others} more`]
}

/** To copy into an application. Contains only the well-known key: real keys must not end up in logs. */
export function connectionString(endpoints: readonly Endpoint[], account: Account): string {
  // Older clients refuse a connection string with a name that they don't know, and DfsEndpoint is one.
  const isNamed = ({ protocol, service }: Endpoint) =>
    protocol !== 'smb' && (service !== 'dfs' || account.isHierarchical === true)
  const overHttp = endpoints.filter(isNamed)
  const known = account.keys.some(({ text }) => text === WELL_KNOWN_KEY)
  const parts = [
    `DefaultEndpointsProtocol=${overHttp[0]?.protocol ?? 'http'}`,
    `AccountName=${account.name}`,
    `AccountKey=${known ? WELL_KNOWN_KEY : `<key of ${account.name}>`}`,
    ...overHttp.map((endpoint) => `${endpointName(endpoint)}=${accountUrl(endpoint, account)}`),
  ]
  return `${parts.join(';')};`
}

/** For clients on this machine. */
export function reachableUrl(endpoint: Endpoint): string {
  return endpointUrl({ ...endpoint, host: connectHost(endpoint.host) })
}

/** As connection strings call it: BlobEndpoint, DfsEndpoint. */
function endpointName({ service }: Endpoint): string {
  return service === 'dfs' ? 'DfsEndpoint' : `${TITLES[service]}Endpoint`
}

/** Path-style URL; over SMB the account is the user name. */
function accountUrl(endpoint: Endpoint, account: Account | undefined): string {
  const url = reachableUrl(endpoint)
  return account === undefined || endpoint.protocol === 'smb' ? url : `${url}/${account.name}`
}

// How to make the system trust a CA. Node, Python and Java have lists of their own.
const TRUST: Readonly<Record<string, (path: string) => string>> = {
  darwin: (path) =>
    `sudo security add-trusted-cert -d -k /Library/Keychains/System.keychain ${path}`,
  win32: (path) => `certutil -user -addstore Root ${path}`,
  linux: (path) =>
    `sudo cp ${path} /usr/local/share/ca-certificates/lazuli.crt && sudo update-ca-certificates`,
}

function caLines({ ca, adminUrl, platform }: Banner): readonly string[] {
  if (ca === undefined) return []
  const path = ca.path ?? 'ca.pem'
  const fetched = ca.path === undefined ? [`  download  curl -o ca.pem ${adminUrl}/ca.pem`] : []
  const trust = TRUST[platform]
  return [
    '',
    `HTTPS: clients must trust the CA ${ca.path ?? 'that was created for this run'}`,
    ...fetched,
    ...(trust === undefined ? [] : [`  system    ${trust(quotePath(path))}`]),
    `  Node      NODE_EXTRA_CA_CERTS=${quotePath(path)}`,
    `  Python    REQUESTS_CA_BUNDLE=${quotePath(path)}`,
    `  others    SSL_CERT_FILE=${quotePath(path)}`,
  ]
}

function quotePath(path: string): string {
  return /[\s'"]/.test(path) ? JSON.stringify(path) : path
}
