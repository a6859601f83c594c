// The server as a library: `startServer` for tests and programs, and the wiring that `main` shares.
import { createBearerValidator } from './auth/bearer.ts'
import type { ServiceName } from './auth/request.ts'
import { createListener, LISTENER_LIMITS, type Listener } from './http/listener.ts'
import type { Front, RequestReport } from './http/serve.ts'
import { blobAccessPolicy, blobPublicAccess, BLOB_SERVER_HEADER } from './rest/blob/front.ts'
import { BLOB_TABLE } from './rest/blob/operations.ts'
import type { BlobService } from './rest/blob/service.ts'
import { decodeAccountsJson } from './start/account-list.ts'
import { fixedAccounts } from './start/accounts.ts'
import { connectionString, type Endpoint } from './start/banner.ts'
import { checkCanListen, listen } from './start/listen.ts'
import { prepareLocation } from './start/location.ts'
import { openLog, type Log } from './start/log.ts'
import { createMetrics, type Metrics, type OperationMetrics } from './start/metrics.ts'
import { defaultOptions, type Options } from './start/options.ts'
import { openStore, type Clock, type Store } from './start/store.ts'
import { loadTls, type Tls } from './start/tls.ts'
import type { Account, Accounts } from './storage/account.ts'
import { getServiceProperties } from './storage/service.ts'

/** How long garbage may lie about before it is swept. */
const SWEEP_EVERY_MS = 60_000

export type ServerOptions = {
  /** Folder of the data; left out, everything is kept in memory and nothing is written. */
  readonly location?: string
  /** Name to key, or to both keys, in base64; left out, devstoreaccount1 with its well-known key. */
  readonly accounts?: Readonly<Record<string, string | readonly [string, string]>>
  /** The time that leases, SAS and everything else see, in milliseconds; yours to hold and advance. */
  readonly clock?: () => number
  readonly host?: string
  /** 0, the default, is any free port. */
  readonly blobPort?: number
  /** Bytes of content to hold in memory. */
  readonly memoryLimitBytes?: number
}

export type LazuliServer = {
  readonly connectionString: string
  readonly blobEndpoint: string
  readonly blobPort: number
  /** Gives back the space of what was deleted, now instead of within a minute. */
  sweep(): Promise<void>
  /** Finishes the requests under way, makes everything durable and lets go of ports and folder. */
  close(): Promise<void>
}

/**
 * Starts a server in this process. Any number may run side by side.
 *
 *     const server = await startServer()
 *     const client = BlobServiceClient.fromConnectionString(server.connectionString)
 *     …
 *     await server.close()
 */
export async function startServer(options: ServerOptions = {}): Promise<LazuliServer> {
  const host = options.host ?? '127.0.0.1'
  const port = options.blobPort ?? 0
  const accounts = accountsOf(options.accounts)
  const settings = defaultOptions({ blobHost: host, blobPort: port, silent: true })
  const log = await openLog({
    options: { ...settings, logLevel: 'error' },
    stdout: process.stderr,
    clock: Date.now,
  })
  const running = await runServer({
    options: settings,
    location: options.location,
    memoryLimitBytes: options.memoryLimitBytes,
    accounts,
    clock: options.clock ?? Date.now,
    log,
    services: ['blob'],
  })
  const [account] = accounts.names().flatMap((name) => accounts.get(name) ?? [])
  const blob = running.endpoints[0]
  if (account === undefined || blob === undefined) throw new Error('there is no account')
  return {
    connectionString: connectionStringOf(running.endpoints, account),
    blobEndpoint: `${blob.protocol}://${blob.host}:${blob.port}/${account.name}`,
    blobPort: blob.port,
    sweep: () => running.store.sweep({ graceMs: 0 }),
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

/** Unlike the banner's, this one is for the program that gave the key. */
function connectionStringOf(endpoints: readonly Endpoint[], account: Account): string {
  const key = account.keys[0]?.text ?? ''
  return connectionString(endpoints, account).replace(/AccountKey=[^;]*/, `AccountKey=${key}`)
}

export type RunSettings = {
  readonly options: Options
  /** undefined: in memory. */
  readonly location: string | undefined
  readonly memoryLimitBytes: number | undefined
  readonly accounts: Accounts
  readonly clock: Clock
  readonly log: Log
  readonly services: readonly ServiceName[]
}

export type RunningServer = {
  readonly endpoints: readonly Endpoint[]
  readonly store: Store
  readonly metrics: Metrics
  readonly tls: Tls | undefined
  close(): Promise<void>
}

export async function runServer(settings: RunSettings): Promise<RunningServer> {
  const { options, location, clock, log } = settings
  const { blobHost: host, blobPort } = options
  const place = { what: 'the blob service', flag: '--blobPort', host, port: blobPort }
  if (settings.services.includes('blob')) await checkCanListen(place)
  if (location !== undefined) await prepareLocation(location)
  const tls = await loadTls({ options, location, nowMs: Date.now() })
  const store = await openStore(
    location === undefined
      ? {
          ...(settings.memoryLimitBytes !== undefined && {
            memoryLimitBytes: settings.memoryLimitBytes,
          }),
        }
      : { folder: location, pid: process.pid },
    clock,
  )
  const listeners: Listener[] = []
  const closeAll = async (): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.close()))
    await store.close()
  }
  try {
    const metrics = createMetrics([
      { name: 'lazuli_store_bytes', help: 'Bytes that the store occupies', read: store.sizeBytes },
    ])
    const endpoints: Endpoint[] = []
    if (settings.services.includes('blob')) {
      const front = blobFront(settings, store, metrics)
      const limits = { ...LISTENER_LIMITS, keepAliveMs: options.blobKeepAliveTimeout * 1_000 }
      const listener = createListener(front, limits, tls?.context)
      const { port } = await listen(listener.server, place)
      listeners.push(listener)
      endpoints.push({ service: 'blob', protocol: tls ? 'https' : 'http', host, port })
    }
    const sweeping = sweepEvery(store, log)
    return {
      endpoints,
      store,
      metrics,
      tls,
      close: async () => {
        await sweeping.stop()
        await closeAll()
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

function blobFront(settings: RunSettings, store: Store, metrics: Metrics): Front<BlobService> {
  const { options, accounts, clock } = settings
  const recycle = (chunk: Uint8Array) => store.extents.recycle(chunk)
  const service: BlobService = { ...store, accounts, recycle }
  const bearer =
    options.oauth === undefined
      ? undefined
      : createBearerValidator({
          mode: options.oauth,
          ...(options.oauthIssuer !== undefined && { issuer: options.oauthIssuer }),
          ...(options.oauthJwks !== undefined && { jwks: options.oauthJwks }),
        })
  return {
    name: 'blob',
    serverHeader: BLOB_SERVER_HEADER,
    table: BLOB_TABLE,
    service,
    accounts,
    pathStyleOnly: options.disableProductStyleUrl,
    strictVersion: options.strictApiVersion && !options.skipApiVersionCheck,
    loose: options.loose,
    world: () => ({
      accounts,
      nowMs: clock(),
      wallNowMs: Date.now(),
      accessPolicy: (request, id) => blobAccessPolicy(service, request, id),
      publicAccess: (request) => blobPublicAccess(service, request),
      bearer,
    }),
    properties: (account) =>
      store.kv.read((tx) => getServiceProperties(tx, { account, service: 'blob' })),
    observe: observer('blob', settings.log, metrics),
    logFault: (error, requestId) => settings.log.error('request failed', { requestId, error }),
  }
}

function observer(service: ServiceName, log: Log, metrics: Metrics) {
  const operations = new Map<string, OperationMetrics>()
  return (report: RequestReport): void => {
    let operation = operations.get(report.operation)
    if (operation === undefined) {
      operation = metrics.operation(service, report.operation)
      operations.set(report.operation, operation)
    }
    operation.record(report)
    log.access?.({ ...report, nowMs: Date.now(), bytes: report.responseBytes })
  }
}

function sweepEvery(store: Store, log: Log): { stop(): Promise<void> } {
  let sweeping = Promise.resolve()
  const timer = setInterval(() => {
    sweeping = sweeping
      .then(() => store.sweep())
      .catch((error: unknown) => log.error('the sweep failed', { error }))
  }, SWEEP_EVERY_MS)
  timer.unref()
  return {
    stop: () => {
      clearInterval(timer)
      return sweeping
    },
  }
}
