// Lazuli as a library: runs a server inside a program or a test.
import { parseAllowCopyFrom } from './http/client/copy-source.ts'
import { runServer } from './run/server.ts'
import { decodeAccountsJson } from './start/account/account-list.ts'
import { fixedAccounts } from './start/account/accounts.ts'
import { connectionString, type Endpoint } from './start/log/banner.ts'
import { openLog } from './start/log/log.ts'
import { checkOptions, defaultOptions } from './start/options/options.ts'
import { fixedSmbUsers } from './start/account/smb-users.ts'
import { VERSION } from './start/version.ts'
import type { Account, Accounts } from './storage/shared/account.ts'

export type ServerOptions = {
  /** Data folder; by default, everything is kept in memory and nothing is written. */
  readonly location?: string
  /** A PostgreSQL database instead of a folder, as the URL `postgres://…`. Several servers may use it: they are nodes. */
  readonly store?: string
  /** Where content goes with `store`: `postgres`, the default, or `folder:PATH`. */
  readonly bytes?: string
  /** Account names with one or two keys in base64; by default, devstoreaccount1 with its well-known key. */
  readonly accounts?: Readonly<Record<string, string | readonly [string, string]>>
  /**
   * Users that may log in over SMB, in addition to the accounts. They see the shares of one account, and the permissions
   * of files apply to them.
   */
  readonly smbUsers?: readonly {
    readonly user: string
    readonly account: string
    readonly password: string
  }[]
  /** The time for leases, SAS and everything else, in milliseconds; by default, the machine's clock. */
  readonly clock?: () => number
  readonly host?: string
  /** 0, the default, picks a free port. */
  readonly blobPort?: number
  readonly queuePort?: number
  readonly tablePort?: number
  readonly filePort?: number
  readonly smbPort?: number
  /** For static websites. */
  readonly webPort?: number
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
}

export type LazuliServer = {
  readonly connectionString: string
  readonly blobEndpoint: string
  readonly blobPort: number
  readonly queueEndpoint: string
  readonly queuePort: number
  readonly tableEndpoint: string
  readonly tablePort: number
  readonly fileEndpoint: string
  readonly filePort: number
  /** File shares over SMB. Log in with an account's name and key, or as one of `smbUsers`. */
  readonly smbPort: number
  /** Static websites: the container $web of an account. */
  readonly webPort: number
  /** Writes analytics logs and frees the space of deleted objects now instead of within a minute. */
  sweep(): Promise<void>
  /** Finishes the current requests, makes everything durable, and releases the ports and the data folder. */
  close(): Promise<void>
}

/**
 * Starts a server in this process. Any number of servers can run side by side.
 *
 *     const server = await startServer()
 *     const client = BlobServiceClient.fromConnectionString(server.connectionString)
 *     …
 *     await server.close()
 */
export async function startServer(options: ServerOptions = {}): Promise<LazuliServer> {
  const host = options.host ?? '127.0.0.1'
  const accounts = accountsOf(options.accounts)
  const settings = defaultOptions({
    blobHost: host,
    blobPort: options.blobPort ?? 0,
    queueHost: host,
    queuePort: options.queuePort ?? 0,
    tableHost: host,
    tablePort: options.tablePort ?? 0,
    fileHost: host,
    filePort: options.filePort ?? 0,
    smbHost: host,
    smbPort: options.smbPort ?? 0,
    webHost: host,
    webPort: options.webPort ?? 0,
    encryptionScopes: options.encryptionScopes ?? [],
    nameReuseSeconds: options.nameReuseSeconds ?? 0,
    allowedHosts: options.allowedHosts ?? [],
    allowCopyFrom: parseAllowCopyFrom(options.allowCopyFrom ?? []),
    ...(options.store !== undefined && { store: options.store }),
    ...(options.bytes !== undefined && { bytes: options.bytes }),
    nodeHost: host,
    nodePort: 0,
    silent: true,
  })
  checkOptions(settings, new Map())
  const log = await openLog({
    options: { ...settings, logLevel: 'error' },
    stdout: process.stderr,
    clock: Date.now,
  })
  const smbUsers = options.smbUsers && fixedSmbUsers(options.smbUsers, accounts)
  const { store: url } = options
  const membership =
    url === undefined
      ? undefined
      : await (
          await import('./run/open-membership.ts')
        ).openMembership({
          url,
          options: settings,
          env: process.env,
          version: VERSION,
          accounts,
          smbUsers,
          hasFiles: true,
          clock: options.clock,
          log,
          say: () => undefined,
          onExpelled: () => log.error('other nodes took this one for dead; close it'),
        })
  const clock = membership?.clock ?? options.clock ?? Date.now
  const running = await runServer({
    options: settings,
    location: options.location,
    memoryLimitBytes: options.memoryLimitBytes,
    accounts,
    smbUsers,
    clock,
    // The database's time, unless the caller has a clock: then the machine's, as without a database.
    ...(membership !== undefined && { membership, wallClock: options.clock ? Date.now : clock }),
    log,
    services: ['blob', 'queue', 'table', 'file', 'smb'],
    webPortMayMove: true,
  })
  const [account] = accounts.names().flatMap((name) => accounts.get(name) ?? [])
  if (account === undefined) throw new Error('there is no account')
  const endpointOf = ({ protocol, host: at, port }: Endpoint): string =>
    `${protocol}://${at}:${port}/${account.name}`
  const [blob, queue, table, file, smb] = running.endpoints
  if (!blob || !queue || !table || !file || !smb) throw new Error('a service did not start')
  return {
    connectionString: connectionStringOf(running.endpoints, account),
    blobEndpoint: endpointOf(blob),
    blobPort: blob.port,
    queueEndpoint: endpointOf(queue),
    queuePort: queue.port,
    tableEndpoint: endpointOf(table),
    tablePort: table.port,
    fileEndpoint: endpointOf(file),
    filePort: file.port,
    smbPort: smb.port,
    webPort: running.webPort,
    sweep: async () => {
      try {
        await running.flushLogs()
      } finally {
        await running.store.sweep({ graceMs: 0 })
      }
    },
    close: async () => {
      await running.close()
      await log.close()
    },
  }
}

function accountsOf(given: ServerOptions['accounts']): Accounts {
  if (given === undefined) return fixedAccounts()
  return fixedAccounts(decodeAccountsJson(given, 'accounts'))
}

/** With the real key, unlike the banner's. */
function connectionStringOf(endpoints: readonly Endpoint[], account: Account): string {
  const key = account.keys[0]?.text ?? ''
  return connectionString(endpoints, account).replace(/AccountKey=[^;]*/, `AccountKey=${key}`)
}
