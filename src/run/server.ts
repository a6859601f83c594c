// Assembles a server: the store, the services on their ports, and the sweep.
import { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { ClockApi, HeldApi, ResetApi, SeedApi } from '../control/api.ts'
import { clockApi, ControlledClock, databaseClockApi } from '../control/clock.ts'
import { createControl, type Control } from '../control/control.ts'
import { resetApi } from '../control/reset.ts'
import type { ForkedStore } from '../control/fork.ts'
import { snapshotApi, type Snapshots } from '../control/snapshots.ts'
import type { SmbUsers } from '../auth/smb/smb-users.ts'
import type { EndpointName, ServiceName } from '../start/options/services.ts'
import { parseRequestHead } from '../http/protocol/request-head.ts'
import { hostRule } from '../http/protocol/allowed-host.ts'
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { withWelcome } from '../http/door/welcome.ts'
import { lazyHandler } from '../http/protocol/lazy-handler.ts'
import {
  createListener,
  LISTENER_LIMITS,
  type Listener,
  type Route,
} from '../http/protocol/listener.ts'
import { runBlob, type RunningBlob } from './blob.ts'
import { bothEndpoints } from './both-endpoints.ts'
import { serverGauges } from './gauges.ts'
import { lazyHeld } from './held.ts'
import { lazyBackups } from './backups.ts'
import { sweepEvery, type Sweeping } from './sweeping.ts'
import { lazySeed, seedStart } from './seed/lazy-seed.ts'
import type { OwnWorld } from './seed/own-client.ts'
import type { Seed } from './seed/seed-form.ts'
import { prepareAccounts } from './prepare.ts'
import { runCopySources } from './copy-sources.ts'
import { fileSource, type SourceFiles } from '../rest/file/copy/source.ts'
import type { FileService } from '../rest/file/service.ts'
import type { ClusterSettings } from './cluster/files.ts'
import type { Membership } from './cluster/membership.ts'
import { ownFiles, type Files, type ServiceListeners } from './files.ts'
import type { SmbListener } from '../smb/listen.ts'
import type { RunContext } from './front.ts'
import { TITLES, type Endpoint } from '../start/log/banner.ts'
import { createEncryptionScopes } from '../start/store/encryption-scopes.ts'
import type { RaceKey } from '../control/race/replay/race-test.ts'
import { overviewApi } from './overview.ts'
import type { ControlParts } from '../start/admin/api/parts.ts'
import type { OfferedService } from '../start/admin/api/storage/storage-routes.ts'
import { connectHost, urlOf } from '../start/host.ts'
import { watchEventLoop } from '../start/admin/event-loop.ts'
import { checkCanListen, listenOrMove, type ListenPlace } from '../start/listen.ts'
import { prepareLocation } from '../start/store/location.ts'
import { tightenLocation } from '../start/store/private-folder.ts'
import type { Log } from '../start/log/log.ts'
import { createMetrics, type Metrics } from '../start/admin/metrics.ts'
import type { Journal } from '../control/journal.ts'
import { allowedHosts, bytesFolder, journalLimits, type Options } from '../start/options/options.ts'
import { openStore, type Clock, type Store } from '../start/store/store.ts'
import { loadTls, type Tls } from '../start/tls/tls.ts'
import type { Accounts } from '../storage/shared/account.ts'

/** A certificate is renewed weeks before it expires. */
const RENEW_EVERY_MS = 12 * 3_600_000

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
  readonly handlers: Readonly<Record<HttpService, RequestHandler>>
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
  const { options, services, log, membership } = given
  const ownClock =
    membership === undefined
      ? (given.fork?.clock ??
        new ControlledClock(given.clock, { isHeld: options.clock === 'held' }))
      : undefined
  const settings = { ...given, clock: ownClock?.now ?? given.clock }
  const mayMove = (service: ServiceName): boolean => settings.mayMove.includes(service)
  for (const service of services) {
    if (!mayMove(service)) await checkCanListen(placeOf(service, options))
  }
  const bearer = await bearerOf(options)
  const journalFile = await journalFileOf(options, log)
  const { store, tls } = await open(settings).catch(async (error: unknown) => {
    await journalFile?.close()
    throw error
  })
  const unauthenticated = new UnauthenticatedMemory()
  const eventLoop = watchEventLoop(log)
  const metrics = createMetrics([
    eventLoop.gauge,
    ...serverGauges({
      store,
      services,
      folder: settings.location ?? bytesFolder(options.bytes),
      unauthenticated,
      queryCount: () => blob.queryCount(),
      backedUpMs: () => backups?.completedMs(),
      files: () => files.kv(),
      smb: () => smb?.view(),
    }),
    ...(membership === undefined
      ? []
      : [
          {
            name: 'lazuli_relayed_connections' as const,
            read: () => files.relayedCount(),
          },
        ]),
    ...(membership?.gauges ?? []),
  ])
  const acceptsHost = hostRule(allowedHosts(options))
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
  const context: RunContext = {
    ...settings, acceptsHost, unauthenticated, bearer, store, metrics, control,
    baseClock: given.clock,
    afterRealTime: settings.after ?? afterDelay,
  } // prettier-ignore
  const endpoints: Endpoint[] = []
  const listeners: Listener[] = []
  const byService: { -readonly [K in keyof ServiceListeners]: ServiceListeners[K] } = {}
  let smb: SmbListener | undefined
  let backups: ReturnType<typeof lazyBackups> | undefined
  const after = settings.after ?? ownClock?.after ?? afterDelay
  const local = { kv: store.kv, after }
  const sources = runCopySources(
    context,
    membership === undefined
      ? (asked, watch) => fileSource(local, asked, watch)
      : (asked, watch) => fileSource(files.source(), asked, watch),
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
  const held = lazyHeld({
    kv: store.kv,
    moment: store.moment,
    journal: control.journal,
    files: () => files.kv(),
    userOf: (openId) => smb?.view()?.userOf(openId),
  })
  const flushLogs = (): Promise<void> => blob.analytics.flush()
  const renewTls = async (nowMs: number): Promise<void> => {
    try {
      const renewed = await tls?.renew(nowMs)
      if (renewed === undefined) return
      for (const listener of listeners) listener.renewTls(renewed)
      log.info('the certificate was renewed')
    } catch (error) {
      log.error('the certificate cannot be renewed, so the old one is used on', { error })
    }
  }
  const renewing = setInterval(() => void renewTls(Date.now()), RENEW_EVERY_MS)
  renewing.unref()
  const closeAll = async (): Promise<void> => {
    clearInterval(renewing)
    control.letGo()
    await blob.stopCopies()
    await files.beginClose()
    await smb?.close()
    await Promise.all(listeners.map((listener) => listener.close()))
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
  const create = (handler: RequestHandler, service: HttpService, route?: Route): Listener => {
    const keepAliveMs = options[`${service}KeepAliveTimeout`] * 1_000
    const limits = { ...LISTENER_LIMITS, keepAliveMs }
    const { allowHttp } = options
    const listener = createListener(handler, limits, tls?.context, { unauthenticated, route, allowHttp }) // prettier-ignore
    listeners.push(listener)
    return listener
  }
  try {
    await createEncryptionScopes(store, settings.accounts.names(), options.encryptionScopes)
    const handlers = {
      blob: handlerFor('blob', context, blob, files),
      dfs: handlerFor('dfs', context, blob, files),
      queue: handlerFor('queue', context, blob, files),
      table: handlerFor('table', context, blob, files),
      file: handlerFor('file', context, blob, files),
    }
    const { reset } = resetApi({
      accounts: settings.accounts,
      kv: store.kv,
      filesKv: () => files.source().kv,
      analytics: blob.analytics,
    })
    const seeding = lazySeed({
      handlers,
      accounts: settings.accounts,
      kv: store.kv,
      wallClock: settings.wallClock ?? Date.now,
    })
    await settings.fill?.({
      handlers,
      accounts: settings.accounts,
      wallClock: settings.wallClock ?? Date.now,
      store,
      reset,
    })
    const seed = settings.seed ?? options.seed
    if (seed !== undefined) await seedStart(seeding, seed, reset, log)
    await prepareAccounts(store, settings.accounts.names(), options)
    for (const service of services) {
      if (service === 'web') continue
      const place = placeOf(service, options)
      if (service === 'smb') {
        smb = await files.openSmb()
        const { port } = await listenOrMove(smb.server, place, mayMove(service))
        endpoints.push({ service, protocol: 'smb', host: place.host, port })
        continue
      }
      const welcome = {
        title: TITLES[service],
        accounts: settings.accounts,
        acceptsHost,
        consoleUrl: settings.consoleUrl ?? (() => undefined),
      }
      const listener = create(
        withWelcome(handlers[service], welcome),
        service,
        service === 'file' ? files.route : undefined,
      )
      if (service === 'blob' || service === 'file') byService[service] = listener
      const { port } = await listenOrMove(listener.server, place, mayMove(service))
      endpoints.push({ service, protocol: tls ? 'https' : 'http', host: place.host, port })
    }
    const webPort = services.includes('web')
      ? await listenOrMove(
          create(blob.website, 'blob').server,
          placeOf('web', options),
          mayMove('web'),
        ).then(({ port }) => port)
      : 0
    if (services.includes('blob')) await blob.resumeCopies()
    await files.begin(byService)
    const sweeping = sweepEvery(store, log, flushLogs)
    backups = lazyBackups({
      folder: settings.location,
      store,
      betweenSweeps: sweeping.between,
    })
    const close = async (): Promise<void> => {
      await backups?.close()
      await sweeping.stop()
      await closeAll()
    }
    const clock =
      ownClock === undefined
        ? databaseClockApi(settings.clock)
        : clockApi(ownClock, () => sweeping.now())
    const snapshots = snapshotApi({
      store,
      clock: settings.clock,
      isShared: membership !== undefined,
      betweenSweeps: (work) => sweeping.between(work),
      restored: async () => {
        // Versions of messages may come again, and would look like those before.
        control.journal?.clear()
        blob.analytics.forget()
        await blob.resumeCopies()
        await files.resumeCopies()
      },
    })
    const states = {
      reset,
      seed: async (given: string | Seed) => (await seeding()).seedApi.seed(given),
      export: async (folder: string) => (await seeding()).seedApi.export(folder),
    }
    const storage = {
      accounts: settings.accounts,
      service: (name: HttpService) => offeredService(endpoints, name, handlers[name]),
      wallClock: settings.wallClock ?? Date.now,
      sasClock: given.clock,
    }
    const overview = overviewApi({
      endpoints, store, metrics,
      accounts: settings.accounts,
      web: webPort === 0 ? undefined : { host: options.webHost, port: webPort },
      location: membership?.location ?? settings.location,
      folder: settings.location ?? bytesFolder(options.bytes),
    }) // prettier-ignore
    const parts = partsOf(control, { overview, held, clock, snapshots, states, backups, storage })
    return {
      endpoints, webPort, store, files, metrics, held, control, clock, snapshots, ...states, tls,
      parts, handlers, controlledClock: ownClock, betweenSweeps: sweeping.between, flushLogs, close,
      renewTls, reopenFiles: () => journalFile?.reopen(),
    } // prettier-ignore
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** The search for races is loaded on demand. */
function partsOf(
  { journal, barriers, faults }: Control,
  others: Pick<
    ControlParts,
    'overview' | 'held' | 'clock' | 'snapshots' | 'states' | 'backups' | 'storage'
  >,
): ControlParts {
  const api = async (kept: Journal) => (await import('../control/race/race.ts')).createRaces(kept)
  const races = journal && {
    races: async () => (await api(journal)).races(),
    expectNoRaces: async () => (await api(journal)).expectNoRaces(),
    test: async (race: RaceKey) =>
      (await import('../control/race/replay/race-test.ts')).raceTest(journal, race),
  }
  return { journal, barriers, faults, races, ...others }
}

function offeredService(
  endpoints: readonly Endpoint[],
  name: HttpService,
  handler: RequestHandler,
): OfferedService | undefined {
  const found = endpoints.find(({ service }) => service === name)
  if (found === undefined || found.protocol === 'smb') return undefined
  const { protocol, host, port } = found
  return { handler, url: new URL(urlOf(protocol, connectHost(host), port)) }
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

type HttpService = Exclude<EndpointName, 'smb'>

function handlerFor(
  service: HttpService,
  context: RunContext,
  blob: RunningBlob,
  files: Files,
): RequestHandler {
  if (service === 'blob' || service === 'dfs') {
    return bothEndpoints(context, service, {
      blob: files.blobHandler(blob.handler),
      dfs: blob.dfs,
    })
  }
  if (service === 'file') return files.handler
  const load = async (): Promise<RequestHandler> =>
    service === 'queue'
      ? (await import('./queue.ts')).runQueue(context, blob.analytics)
      : (await import('./table.ts')).runTable(context, blob.analytics)
  return lazyHandler(load, (error) => context.log.error('a service failed to load', { error }))
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

async function open(settings: RunSettings) {
  const { options, location, memoryLimitBytes, clock, log, membership, fork } = settings
  const tlsSettings = { options, location, nowMs: Date.now() }
  // A given certificate is checked before anything is written; a generated one needs the data folder.
  const givenTls = options.cert === undefined ? undefined : await loadTls(tlsSettings)
  if (location !== undefined) {
    await prepareLocation(location)
    const report = (level: 'info' | 'warn', message: string): void => log[level](message)
    await tightenLocation(location, { uid: process.getuid?.(), report })
  }
  const tls: Tls | undefined = givenTls ?? (await loadTls(tlsSettings))
  if (membership !== undefined) return { tls, store: membership.store }
  const inMemory = {
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
    ...(fork !== undefined && { forked: fork.store }),
  }
  const place = location === undefined ? inMemory : { folder: location, pid: process.pid }
  return { tls, store: await openStore(place, clock) }
}

function placeOf(service: ServiceName, options: Options): ListenPlace {
  const [host, port] = [options[`${service}Host`], options[`${service}Port`]]
  const what = service === 'web' ? 'the static websites' : `the ${service} service`
  return { what, flag: `--${service}Port`, host, port }
}
