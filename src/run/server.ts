// Assembles a server: the store, the services on their ports, and the sweep.
import { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { SmbUsers } from '../auth/smb/smb-users.ts'
import type { ClockApi, HeldApi, ResetApi, SeedApi } from '../control/api.ts'
import { clockApi, ControlledClock, databaseClockApi } from '../control/clock.ts'
import { createControl, type Control } from '../control/control.ts'
import type { ForkedStore } from '../control/fork.ts'
import { resetApi } from '../control/reset.ts'
import { snapshotApi, type Snapshots } from '../control/snapshots.ts'
import { withWelcome } from '../http/door/welcome.ts'
import { hostRule, type HostRule } from '../http/protocol/allowed-host.ts'
import { parseRequestHead } from '../http/protocol/request-head.ts'
import { fileSource, type SourceFiles } from '../rest/file/copy/source.ts'
import type { FileService } from '../rest/file/service.ts'
import type { ControlParts } from '../start/admin/api/parts.ts'
import { watchEventLoop } from '../start/admin/event-loop.ts'
import { createMetrics, type Gauge, type Metrics } from '../start/admin/metrics.ts'
import { TITLES, type Endpoint } from '../start/log/banner.ts'
import type { Log } from '../start/log/log.ts'
import { allowedHosts, bytesFolder, journalLimits, type Options } from '../start/options/options.ts'
import type { ServiceName } from '../start/options/services.ts'
import { createEncryptionScopes } from '../start/store/encryption-scopes.ts'
import type { Clock, Store } from '../start/store/store.ts'
import type { Tls } from '../start/tls/tls.ts'
import type { Accounts } from '../storage/shared/account.ts'
import { lazyBackups } from './backups.ts'
import { runBlob, type RunningBlob } from './blob.ts'
import type { ClusterSettings } from './cluster/files.ts'
import type { Membership } from './cluster/membership.ts'
import { controlParts, offeredService } from './control-parts.ts'
import { runCopySources } from './copy-sources.ts'
import { ownFiles, type Files } from './files.ts'
import type { RunContext } from './front.ts'
import { serverGauges } from './gauges.ts'
import { handlersOf, type Handlers, type HttpService } from './handlers.ts'
import { lazyHeld } from './held.ts'
import { openStoreAndTls } from './open-store.ts'
import { overviewApi } from './overview.ts'
import { checkPorts, Ports } from './ports.ts'
import { prepareAccounts } from './prepare.ts'
import { lazySeed, seedStart } from './seed/lazy-seed.ts'
import type { OwnWorld } from './seed/own-client.ts'
import type { Seed } from './seed/seed-form.ts'
import { sweepEvery, type Sweeping } from './sweeping.ts'

/** Requests over SMB have none. */
const NO_HEAD = { method: '', target: '', headers: {} }

export type RunSettings = {
  readonly options: Options
  /** undefined: in memory. */
  readonly location: string | undefined
  readonly memoryLimitBytes: number | undefined
  readonly accounts: Accounts
  /** SMB users, in addition to the accounts. */
  readonly smbUsers?: SmbUsers | undefined
  readonly clock: Clock
  /** As in RunContext. */
  readonly wallClock?: Clock
  readonly log: Log
  readonly services: readonly ServiceName[]
  /** Whose ports are only defaults: if one is in use, any free one will do. */
  readonly mayMove: readonly ServiceName[]
  /** Timer for waiting for SMB clients; by default, those of the clock. */
  readonly after?: FileService['after']
  /** What an empty store begins with; by default, `options.seed`. */
  readonly seed?: Seed
  /** Where the console is, for people who open a service in a browser; undefined while there is none. */
  readonly consoleUrl?: () => string | undefined
  /** Fills the store before the ports open: an import. */
  readonly fill?: (world: FillWorld) => Promise<void>
  /** Set if this server is a fork; `location` is then undefined, and there is no seed. */
  readonly fork?: ForkStart
  /** Set if this server is a node of a cluster; `location` is then not used. */
  readonly membership?: Membership
}

/** What an import needs of the server whose store it fills. */
export type FillWorld = OwnWorld & {
  readonly store: Store
  readonly reset: ResetApi['reset']
}

/** What a fork begins with. The server that runs with it closes the store. */
export type ForkStart = { readonly clock: ControlledClock; readonly store: ForkedStore }

export type RunningServer = {
  readonly endpoints: readonly Endpoint[]
  /** For static websites; 0 if they are not offered. */
  readonly webPort: number
  readonly store: Store
  readonly files: Pick<Files, 'service'>
  readonly metrics: Metrics
  readonly held: HeldApi
  readonly control: Control
  readonly clock: ClockApi
  readonly reset: ResetApi['reset']
  readonly snapshots: Snapshots
  readonly seed: SeedApi<Seed>['seed']
  readonly export: SeedApi<Seed>['export']
  readonly tls: Tls | undefined
  /** undefined on several nodes, where nobody controls the clock. */
  readonly controlledClock: ControlledClock | undefined
  /** What the API of the admin port reaches. */
  readonly parts: ControlParts
  /** What answers requests, without a connection. */
  readonly handlers: Handlers
  /** Runs work while no sweep runs. */
  betweenSweeps: Sweeping['between']
  /** Looks for changed certificate files, and makes a new certificate before the current one expires. */
  renewTls(nowMs: number): Promise<void>
  /** Goes on in a new --journalFile, after a program that rotates logs has renamed it. */
  reopenFiles(): void
  /** Writes the analytics log lines collected so far. */
  flushLogs(): Promise<void>
  close(): Promise<void>
}

export async function runServer(given: RunSettings): Promise<RunningServer> {
  const { options, services, log, membership, fork } = given
  const ownClock = membership === undefined ? clockOf(given) : undefined
  const settings = { ...given, clock: ownClock?.now ?? given.clock }
  await checkPorts(services, settings)
  const bearer = await bearerOf(options)
  const journalFile = await journalFileOf(options, log)
  const opening = openStoreAndTls({
    ...settings,
    forked: fork?.store,
    shared: membership?.store,
  })
  const { store, tls } = await opening.catch(async (error: unknown) => {
    await journalFile?.close()
    throw error
  })
  const unauthenticated = new UnauthenticatedMemory()
  const ports = new Ports({ ...settings, tls, unauthenticated })
  const eventLoop = watchEventLoop(log)
  const folder = settings.location ?? bytesFolder(options.bytes)
  const metrics = createMetrics([
    eventLoop.gauge,
    ...serverGauges({
      store,
      services,
      folder,
      unauthenticated,
      queryCount: () => blob.queryCount(),
      backedUpMs: () => backups?.completedMs(),
      files: () => files.kv(),
      smb: () => ports.smb?.view(),
    }),
    ...nodeGauges(membership, () => files.relayedCount()),
  ])
  const control = createControl({
    clock: settings.clock,
    journal: journalLimits(options),
    clientBy: options.clientBy,
    decodeHead: (text) => (text === '' ? NO_HEAD : parseRequestHead(text)),
  })
  control.journal?.listen((entry) => {
    if (entry.service === 'smb' && entry.errorCode !== undefined) metrics.refusal('smb', entry)
  })
  if (control.journal !== undefined) journalFile?.follow(control.journal)
  const acceptsHost = hostRule(allowedHosts(options))
  const context: RunContext = {
    ...settings, acceptsHost, unauthenticated, bearer, store, metrics, control,
    baseClock: given.clock,
    afterRealTime: settings.after ?? afterDelay,
  } // prettier-ignore
  let backups: ReturnType<typeof lazyBackups> | undefined
  const { endpoints } = ports
  const after = settings.after ?? ownClock?.after ?? afterDelay
  const local = { kv: store.kv, after }
  const sources = runCopySources(
    context,
    (asked, watch) => fileSource(membership === undefined ? local : files.source(), asked, watch),
    membership === undefined ? () => endpoints : () => membership.endpoints(),
  )
  const { copySources } = sources
  const blob = runBlob(context, copySources, membership)
  const files = await filesOf(context, membership, {
    analytics: blob.analytics,
    copySources,
    local,
    hasSmb: services.includes('smb'),
    endpoints: () => endpoints,
  })
  const flushLogs = (): Promise<void> => blob.analytics.flush()
  const closeAll = async (): Promise<void> => {
    control.letGo()
    await blob.stopCopies()
    await files.beginClose()
    await ports.close()
    await files.close()
    await blob.stopQueries()
    sources.end()
    eventLoop.stop()
    await flushLogs().catch((error: unknown) =>
      log.error('analytics logs could not be written', { error }),
    )
    await journalFile?.close()
    await store.close()
  }
  try {
    const handlers = handlersOf(context, blob, files)
    const filling = await fillStore(settings, { store, handlers, files, blob })
    const webPort = await openPorts(ports, settings, { handlers, blob, files, acceptsHost })
    if (services.includes('blob')) await blob.resumeCopies()
    await files.begin(ports.byService)
    const sweeping = sweepEvery(store, log, flushLogs)
    const betweenSweeps = sweeping.between
    backups = lazyBackups({ folder: settings.location, store, betweenSweeps })
    const close = async (): Promise<void> => {
      await backups?.close()
      await sweeping.stop()
      await closeAll()
    }
    const held = lazyHeld({
      kv: store.kv,
      moment: store.moment,
      journal: control.journal,
      files: () => files.kv(),
      userOf: (openId) => ports.smb?.view()?.userOf(openId),
    })
    const clock =
      ownClock === undefined
        ? databaseClockApi(settings.clock)
        : clockApi(ownClock, () => sweeping.now())
    const snapshots = snapshotApi({
      store,
      clock: settings.clock,
      isShared: membership !== undefined,
      betweenSweeps: (work) => betweenSweeps(work),
      restored: async () => {
        // Versions of messages may come again, and would look like those before.
        control.journal?.clear()
        blob.analytics.forget()
        await blob.resumeCopies()
        await files.resumeCopies()
      },
    })
    const { states } = filling
    const storage = {
      accounts: settings.accounts,
      service: (name: HttpService) => offeredService(endpoints, handlers, name),
      wallClock: settings.wallClock ?? Date.now,
      sasClock: given.clock,
    }
    const overview = overviewApi({
      endpoints, store, metrics, folder,
      accounts: settings.accounts,
      web: webPort === 0 ? undefined : { host: options.webHost, port: webPort },
      location: membership?.location ?? settings.location,
    }) // prettier-ignore
    const parts = controlParts(control, { overview, held, clock, snapshots, states, backups, storage }) // prettier-ignore
    return {
      endpoints, webPort, store, files, metrics, held, control, clock, snapshots, ...states, tls,
      parts, handlers, controlledClock: ownClock, betweenSweeps, flushLogs, close,
      renewTls: (nowMs) => ports.renewTls(nowMs),
      reopenFiles: () => journalFile?.reopen(),
    } // prettier-ignore
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** On several nodes, the database has the clock, and nobody controls it. */
function clockOf({ fork, clock, options }: RunSettings): ControlledClock {
  return fork?.clock ?? new ControlledClock(clock, { isHeld: options.clock === 'held' })
}

function nodeGauges(membership: Membership | undefined, read: () => number): readonly Gauge[] {
  if (membership === undefined) return []
  return [{ name: 'lazuli_relayed_connections', read }, ...(membership.gauges ?? [])]
}

type Filled = {
  readonly store: Store
  readonly handlers: Handlers
  readonly files: Files
  readonly blob: RunningBlob
}

/** What the store has before the ports open: scopes, an import, a seed, and what every account gets. */
async function fillStore(settings: RunSettings, { store, handlers, files, blob }: Filled) {
  const { options, accounts, fill, log, wallClock = Date.now } = settings
  await createEncryptionScopes(store, accounts.names(), options.encryptionScopes)
  const { reset } = resetApi({
    accounts,
    kv: store.kv,
    filesKv: () => files.source().kv,
    analytics: blob.analytics,
  })
  const seeding = lazySeed({ handlers, accounts, kv: store.kv, wallClock })
  await fill?.({ handlers, accounts, wallClock, store, reset })
  const seed = settings.seed ?? options.seed
  if (seed !== undefined) await seedStart(seeding, seed, reset, log)
  await prepareAccounts(store, accounts.names(), options)
  const states = {
    reset,
    seed: async (given: string | Seed) => (await seeding()).seedApi.seed(given),
    export: async (folder: string) => (await seeding()).seedApi.export(folder),
  }
  return { states }
}

type Offered = Pick<Filled, 'handlers' | 'files' | 'blob'> & { readonly acceptsHost: HostRule }

/** Returns the port of static websites; 0 if there is none. */
async function openPorts(
  ports: Ports,
  { services, accounts, consoleUrl = () => undefined }: RunSettings,
  { handlers, files, blob, acceptsHost }: Offered,
): Promise<number> {
  for (const service of services) {
    if (service === 'web') continue
    if (service === 'smb') {
      await ports.openSmb(await files.openSmb())
      continue
    }
    const welcome = { title: TITLES[service], accounts, acceptsHost, consoleUrl }
    const route = service === 'file' ? files.route : undefined
    await ports.open(service, withWelcome(handlers[service], welcome), route)
  }
  return services.includes('web') ? ports.openWebsite(blob.website) : 0
}

type FilesParts = Pick<ClusterSettings, 'analytics' | 'copySources' | 'hasSmb' | 'endpoints'> & {
  readonly local: SourceFiles
}

async function filesOf(
  context: RunContext,
  membership: Membership | undefined,
  { local, ...parts }: FilesParts,
): Promise<Files> {
  if (membership === undefined) return ownFiles(context, parts.analytics, parts.copySources, local)
  const { clusterFiles } = await import('./cluster/files.ts')
  return clusterFiles(context, { ...parts, membership, after: local.after })
}

function afterDelay(delayMs: number, then: () => unknown): () => void {
  const timer = setTimeout(then, delayMs)
  return () => clearTimeout(timer)
}

/** Loaded on demand, like everything that few servers need: each file costs start time. */
async function bearerOf({ oauth, oauthIssuer, oauthJwks }: Options) {
  if (oauth === undefined) return undefined
  const { createBearerValidator } = await import('../auth/token/bearer.ts')
  return createBearerValidator({
    mode: oauth,
    ...(oauthIssuer !== undefined && { issuer: oauthIssuer }),
    ...(oauthJwks !== undefined && { jwks: oauthJwks }),
  })
}

async function journalFileOf({ journalFile: path }: Options, log: Log) {
  if (path === undefined) return undefined
  const { openJournalFile } = await import('../start/log/journal-file.ts')
  return openJournalFile(path, (message, error) => log.error(message, { error }))
}
