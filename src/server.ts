// Lazuli as a library: runs a server inside a program or a test.
import type {
  BarrierApi,
  ClockApi,
  FaultApi,
  ForkApi,
  HeldApi,
  JournalApi,
  Race,
  ResetApi,
  SeedApi,
  SnapshotApi,
} from './control/api.ts'
import { createRaces } from './control/race/race.ts'
import type { Seed } from './run/seed/seed-form.ts'
import { hostRule } from './http/protocol/allowed-host.ts'
import { journalApi } from './control/journal-api.ts'
import type { JoinedCluster } from './run/cluster/open-membership.ts'
import { Forks } from './run/forks.ts'
import { runServer, type ForkStart, type RunningServer } from './run/server.ts'
import type { Admin } from './start/admin/admin.ts'
import { forkOptions, OPTION_KINDS, settingsOf, type ServerOptions } from './server-options.ts'
import { decodeAccountsJson } from './start/account/account-list.ts'
import { fixedAccounts } from './start/account/accounts.ts'
import { connectionString, type Endpoint } from './start/log/banner.ts'
import { openLog, type Log } from './start/log/log.ts'
import { allowedHosts, type Options } from './start/options/options.ts'
import { SERVICE_NAMES } from './start/options/services.ts'
import { checkLibraryOptions, inOptionWords } from './start/options/library-options.ts'
import { fixedSmbUsers } from './start/account/smb-users.ts'
import { VERSION } from './start/version.ts'
import type { Account, Accounts } from './storage/shared/account.ts'

export type {
  Barrier,
  BarrierApi,
  BarrierRule,
  BarrierState,
  ClockApi,
  ClockState,
  Duration,
  Fault,
  FaultApi,
  FaultEffect,
  FaultRule,
  FaultState,
  ForkApi,
  HeldApi,
  HeldLease,
  HeldLock,
  HeldOpen,
  HeldRequest,
  InvisibleMessage,
  JournalApi,
  JournalEntry,
  JournalFilter,
  Match,
  PendingCopy,
  Race,
  RaceApi,
  RaceKind,
  ResetResult,
  Scope,
  SnapshotApi,
  SnapshotState,
  Time,
  UncommittedBlocks,
} from './control/api.ts'
export type { Seed } from './run/seed/seed-form.ts'
export type { ClientSource } from './control/client.ts'
export type { JournalObject } from './control/entry.ts'
export type { Point } from './control/point.ts'
export type { JournalOptions, ServerOptions } from './server-options.ts'

export type LazuliServer = {
  /** Of the first account. */
  readonly connectionString: string
  /** Of another account, such as `devlake1`, which has a hierarchical namespace. */
  connectionStringOf(account: string): string
  readonly blobEndpoint: string
  readonly blobPort: number
  readonly queueEndpoint: string
  readonly queuePort: number
  readonly tableEndpoint: string
  readonly tablePort: number
  readonly fileEndpoint: string
  readonly filePort: number
  /** Data Lake Storage. The blob endpoint answers it, too. */
  readonly dfsEndpoint: string
  readonly dfsPort: number
  /** File shares over SMB. Log in with an account's name and key, or as one of `smbUsers`. */
  readonly smbPort: number
  /** Static websites: the container $web of an account. */
  readonly webPort: number
  /** What clients hold now: leases, invisible messages, opens, locks, copies, uncommitted blocks. Each can be ended. */
  readonly held: HeldApi
  /**
   * What the journal shows of races between clients: lost updates, leases that were outlived, messages that were handled
   * twice, checks before creations, torn reads, and writes over REST under an SMB open. Each has an explanation. Name
   * your clients with the header x-lazuli-client, or by `journal.clientBy`; otherwise a client is a connection, and less
   * is found.
   */
  races(): readonly Race[]
  /**
   * Fails with the explanations if there are races that are not harmless, or if earlier requests are no longer in the
   * journal.
   */
  expectNoRaces(): Promise<void>
  /**
   * Holds requests at a point of their way, so that a test decides who wins a race:
   *
   *     const barrier = server.barriers.hold({ at: 'checked', match: { operation: 'Put Blob' } })
   *     const [a, b] = [putAs('A'), putAs('B')]
   *     await barrier.held(2)
   *     await barrier.release('B', 'A')
   *
   * A client has the name that its header `x-lazuli-client` gives it.
   */
  readonly barriers: BarrierApi
  /**
   * Makes requests fail, wait, lose their answers or find the disk full:
   *
   *     server.faults.add({ match: { operation: 'Put Blob' }, effect: { status: 503 }, times: 2 })
   *     server.faults.add({ effect: { reset: 'after' }, probability: 0.1, seed: 7 })
   */
  readonly faults: FaultApi
  /**
   * Holds, advances and sets the time. What the time brings about has happened when its methods resolve: leases and
   * messages have expired, broken SMB caches are lost, the sweep has run. Signatures and SAS don't depend on it.
   */
  readonly clock: ClockApi
  /**
   * Removes containers, queues, tables and shares with all they have, whatever leases and policies say: all of them, or those
   * of an account, of a service, or a single one. Services get their default properties back.
   */
  readonly reset: ResetApi['reset']
  /**
   * Saved states of the whole store, which share the bytes of blobs and files with it. While one is saved, writes wait; while
   * one is restored, requests get 503 ServerBusy, and SMB clients lose what they have open.
   *
   *     const server = await prepared.snapshots.fork('filled')
   *
   * starts another server, which begins with the state and changes nothing of this one. It is in memory, on free ports, with
   * the accounts, the options and the time of this server, and an empty journal that is not written to a file. It shares the
   * bytes of the state's content, so this server keeps them until the fork closes, and closes its forks before itself.
   */
  readonly snapshots: SnapshotApi & ForkApi<LazuliServer>
  /** Adds containers, blobs, queues, messages, tables, entities, shares and files from a folder or an object. */
  readonly seed: SeedApi<Seed>['seed']
  /** Writes what the store has into a new folder, in the form that `seed` reads. */
  readonly export: SeedApi<Seed>['export']
  /** The API over HTTP; undefined without `adminPort`. Its description is at `/api/openapi.json`. */
  readonly adminUrl: string | undefined
  /** What happened to each request: who asked, which state it met, and to whom it lost if it was refused. */
  readonly journal: JournalApi
  /** Writes analytics logs and frees the space of deleted objects now instead of within a minute. */
  sweep(): Promise<void>
  /**
   * Finishes the current requests, makes everything durable, and releases the ports and the data folder. Calling it again
   * has no effect.
   */
  close(): Promise<void>
  /** Closes the server at the end of the block: `await using server = await startServer()`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a server in this process. Any number of servers can run side by side.
 *
 *     const server = await startServer()
 *     const client = BlobServiceClient.fromConnectionString(server.connectionString)
 *     …
 *     await server.close()
 *
 * An option that does not exist, or has the wrong type, is refused by name.
 */
export async function startServer(options: ServerOptions = {}): Promise<LazuliServer> {
  try {
    checkLibraryOptions(options, OPTION_KINDS)
    return await start(options)
  } catch (error) {
    throw inOptionWords(error, OPTION_KINDS)
  }
}

/** How a server begins as a fork of another. */
type ForkRun = { readonly start: ForkStart; closed(server: LazuliServer): void }

async function start(options: ServerOptions, fork?: ForkRun): Promise<LazuliServer> {
  const host = options.host ?? '127.0.0.1'
  const accounts = accountsOf(options.accounts)
  const settings = settingsOf(options, host)
  const log = await openLog({
    options: { ...settings, logLevel: 'error' },
    stdout: process.stderr,
    clock: Date.now,
  })
  const smbUsers = options.smbUsers && fixedSmbUsers(options.smbUsers, accounts)
  const { store: url } = options
  const ownClock = options.clock === 'held' ? undefined : options.clock
  const membership =
    url === undefined
      ? undefined
      : await (
          await import('./run/cluster/open-membership.ts')
        ).openMembership({
          url,
          options: settings,
          env: process.env,
          version: VERSION,
          accounts,
          smbUsers,
          hasFiles: true,
          clock: ownClock,
          log,
          say: () => undefined,
          onExpelled: () => log.error('other nodes took this one for dead; close it'),
        })
  const clock = membership?.clock ?? ownClock ?? Date.now
  const running = await runServer({
    options: settings,
    location: options.location,
    memoryLimitBytes: options.memoryLimitBytes,
    accounts,
    smbUsers,
    clock,
    ...(membership !== undefined && { membership }),
    ...(fork !== undefined && { fork: fork.start }),
    ...(typeof options.seed === 'object' && { seed: options.seed }),
    // A clock that the caller controls is not that of its clients.
    ...(ownClock === undefined && { wallClock: clock }),
    log,
    services: SERVICE_NAMES,
    mayMove: options.dfsPort === undefined ? ['dfs', 'web'] : ['web'],
  })
  const admin = await openAdmin(options, host, running, settings, membership, log).catch(
    async (error: unknown) => {
      await running.close()
      throw error
    },
  )
  const [account] = accounts.names().flatMap((name) => accounts.get(name) ?? [])
  if (account === undefined) throw new Error('there is no account')
  const endpointOf = ({ protocol, host: at, port }: Endpoint): string =>
    `${protocol}://${at}:${port}/${account.name}`
  const [blob, queue, table, file, dfs, smb] = running.endpoints
  if (!blob || !queue || !table || !file || !dfs || !smb) throw new Error('a service did not start')
  let closing: Promise<void> | undefined
  const forks = new Forks<LazuliServer>()
  const closeAll = async (): Promise<void> => {
    try {
      await forks.close()
    } finally {
      await running.close()
    }
    await admin?.close()
    await log.close()
    fork?.closed(server)
  }
  const close = (): Promise<void> => (closing ??= closeAll())
  const server: LazuliServer = {
    connectionString: connectionStringOf(running.endpoints, account),
    connectionStringOf: (name) => {
      const other = accounts.get(name)
      if (other === undefined) throw new Error(`there is no account ${name.slice(0, 63)}`)
      return connectionStringOf(running.endpoints, other)
    },
    blobEndpoint: endpointOf(blob),
    blobPort: blob.port,
    queueEndpoint: endpointOf(queue),
    queuePort: queue.port,
    tableEndpoint: endpointOf(table),
    tablePort: table.port,
    fileEndpoint: endpointOf(file),
    filePort: file.port,
    dfsEndpoint: endpointOf(dfs),
    dfsPort: dfs.port,
    smbPort: smb.port,
    webPort: running.webPort,
    held: running.held,
    ...createRaces(running.control.journal),
    barriers: running.control.barriers,
    faults: running.control.faults,
    clock: running.clock,
    reset: running.reset,
    snapshots: {
      ...snapshotsOf(running),
      fork: (name) => forks.start((closed) => startFork(options, running, name, closed)),
    },
    seed: running.seed,
    export: running.export,
    adminUrl: admin?.url,
    journal: journalApi(running.parts.journal, 'this server was started with journal: false'),
    sweep: async () => {
      try {
        await running.flushLogs()
      } finally {
        await running.betweenSweeps(() => running.store.sweep({ graceMs: 0 }))
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
  return server
}

function snapshotsOf({ snapshots }: RunningServer): SnapshotApi {
  const { forkStore: _forkStore, ...offered } = snapshots
  return offered
}

async function startFork(
  options: ServerOptions,
  { snapshots, controlledClock }: RunningServer,
  name: string,
  closed: ForkRun['closed'],
): Promise<LazuliServer> {
  const store = await snapshots.forkStore(name)
  try {
    if (controlledClock === undefined) throw new Error('a server that forks has its own clock')
    return await start(forkOptions(options), {
      start: { clock: controlledClock.copy(), store },
      closed,
    })
  } catch (error) {
    store.shared.close()
    throw error
  }
}

/** Control is on: whoever starts a server from code has chosen its address or its token for that. */
async function openAdmin(
  { adminPort: port, controlToken: token }: ServerOptions,
  host: string,
  server: RunningServer,
  settings: Options,
  membership: JoinedCluster | undefined,
  log: Log,
): Promise<Admin | undefined> {
  if (port === undefined) return undefined
  const { startAdmin } = await import('./start/admin/admin.ts')
  return startAdmin({
    host, port, portMayMove: false,
    acceptsHost: hostRule(allowedHosts(settings)),
    ready: () => membership?.cluster.isBeating() !== false,
    nodes: () => membership?.listNodes() ?? [],
    metrics: server.metrics,
    caPem: undefined,
    parts: server.parts,
    access: { control: true, token },
    report: (message, error) => log.error(message, { error }),
  }) // prettier-ignore
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
