// The parts that the fronts of all services share: accounts, clocks, tokens, properties, logs and metrics.
import type { BearerValidator } from '../auth/token/bearer.ts'
import type { ServiceName } from '../auth/request.ts'
import type { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { SmbUsers } from '../auth/smb/smb-users.ts'
import type { AuthWorld } from '../auth/world.ts'
import type { HostRule } from '../http/protocol/allowed-host.ts'
import { errorAnswer } from '../http/door/error-answer.ts'
import type { Front, RequestReport } from '../http/door/serve.ts'
import type { Analytics } from '../rest/blob/log/analytics.ts'
import type { Log } from '../start/log/log.ts'
import type { Metrics, OperationMetrics } from '../start/admin/metrics.ts'
import type { Options } from '../start/options/options.ts'
import type { Clock, Store } from '../start/store/store.ts'
import type { Accounts } from '../storage/shared/account.ts'
import { getServiceProperties } from '../storage/shared/service.ts'
import type { ServiceProperties } from '../storage/shared/service-properties.ts'

/** Everything that a service needs to start. */
export type RunContext = {
  readonly options: Options
  readonly accounts: Accounts
  readonly acceptsHost: HostRule
  /** Shared by all ports. */
  readonly unauthenticated: UnauthenticatedMemory
  readonly smbUsers?: SmbUsers | undefined
  /** Only if bearer tokens are accepted. */
  readonly bearer?: BearerValidator | undefined
  readonly clock: Clock
  readonly log: Log
  readonly store: Store
  readonly metrics: Metrics
}

/** Only blob containers can be public. */
export const NO_PUBLIC_ACCESS: AuthWorld['publicAccess'] = () => Promise.resolve(undefined)

type Own<Service> = Pick<Front<Service>, 'name' | 'serverHeader' | 'table' | 'service'> &
  Partial<Pick<Front<Service>, 'errorAnswer'>>

export function frontOf<Service>(
  context: RunContext,
  own: Own<Service>,
  world: () => AuthWorld,
): Front<Service> {
  const { options, accounts, log, metrics } = context
  const observe = observer(own.name, log, metrics)
  const properties = cachedProperties(context, own.name)
  return {
    errorAnswer,
    ...own,
    accounts,
    pathStyleOnly: options.disableProductStyleUrl,
    acceptsHost: context.acceptsHost,
    strictVersion: options.strictApiVersion && !options.skipApiVersionCheck,
    loose: options.loose,
    world,
    properties: (account) => properties.get(account),
    observe: (report) => {
      if (report.operation === 'Set Service Properties') properties.clear()
      observe(report)
    },
    logFault: (error, requestId) => log.error('request failed', { requestId, error }),
  }
}

// Cache of service properties: every response depends on them, and they hardly ever change. Entries last until the
// properties are set, and a second at most, since a Set Service Properties that timed out may still commit.
const CACHED_MS = 1_000

type CachedProperties = { readonly properties: ServiceProperties; readonly untilMs: number }

function cachedProperties(
  { accounts, store }: Pick<RunContext, 'accounts' | 'store'>,
  service: ServiceName,
) {
  let cache = new Map<string, CachedProperties>()
  const read = async (account: string, nowMs: number): Promise<ServiceProperties> => {
    const current = cache
    const properties = await store.kv.read((tx) => getServiceProperties(tx, { account, service }))
    // Only existing accounts, so that made-up names can't fill the map. Into the old map: `clear` replaces it.
    if (accounts.get(account) !== undefined) {
      current.set(account, { properties, untilMs: nowMs + CACHED_MS })
    }
    return properties
  }
  return {
    get(account: string): ServiceProperties | Promise<ServiceProperties> {
      const found = cache.get(account)
      const nowMs = performance.now()
      return found !== undefined && nowMs < found.untilMs ? found.properties : read(account, nowMs)
    },
    clear(): void {
      cache = new Map()
    },
  }
}

export function nameReuseMs({ options }: Pick<RunContext, 'options'>): number {
  return options.nameReuseSeconds * 1_000
}

/** The world of authentication; the service itself adds access policies and public access. */
export function worldOf(
  { accounts, clock, bearer }: RunContext,
  own: Pick<AuthWorld, 'accessPolicy' | 'publicAccess'>,
): () => AuthWorld {
  return () => ({ accounts, nowMs: clock(), wallNowMs: Date.now(), bearer, ...own })
}

/** Reports the requests of a front to analytics too. */
export function withAnalytics<Service>(
  front: Front<Service>,
  analytics: Analytics,
): Front<Service> {
  const { observe } = front
  return {
    ...front,
    observe: (report) => {
      observe(report)
      analytics.record(report)
    },
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
