// A running server: the store, the services on their ports and the sweep, put together.
import { createBearerValidator } from './auth/bearer.ts'
import type { ServiceName } from './auth/request.ts'
import type { AuthWorld } from './auth/world.ts'
import { createListener, LISTENER_LIMITS, type Listener } from './http/listener.ts'
import type { Front, RequestReport } from './http/serve.ts'
import { blobAccessPolicy, blobPublicAccess, BLOB_SERVER_HEADER } from './rest/blob/front.ts'
import { BLOB_TABLE } from './rest/blob/operations.ts'
import type { BlobService } from './rest/blob/service.ts'
import type { Endpoint } from './start/banner.ts'
import { checkCanListen, listen } from './start/listen.ts'
import { prepareLocation } from './start/location.ts'
import type { Log } from './start/log.ts'
import { createMetrics, type Metrics, type OperationMetrics } from './start/metrics.ts'
import type { Options } from './start/options.ts'
import { openStore, type Clock, type Store } from './start/store.ts'
import { loadTls, type Tls } from './start/tls.ts'
import type { Accounts } from './storage/account.ts'
import { getServiceProperties } from './storage/service.ts'

/** How long garbage may lie about before it is swept. */
const SWEEP_EVERY_MS = 60_000

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
  const tlsSettings = { options, location, nowMs: Date.now() }
  // A certificate that can't be used is told before anything is written; one of our own is kept in the location.
  const givenTls = options.cert === undefined ? undefined : await loadTls(tlsSettings)
  if (location !== undefined) await prepareLocation(location)
  const tls = givenTls ?? (await loadTls(tlsSettings))
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
  const accessPolicy: AuthWorld['accessPolicy'] = (request, id) =>
    blobAccessPolicy(service, request, id)
  const publicAccess: AuthWorld['publicAccess'] = (request) => blobPublicAccess(service, request)
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
      accessPolicy,
      publicAccess,
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
