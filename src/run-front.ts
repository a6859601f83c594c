// What the fronts of all services share: accounts, clocks, tokens, properties, logs and metrics.
import type { BearerValidator } from './auth/bearer.ts'
import type { ServiceName } from './auth/request.ts'
import type { SmbUsers } from './auth/smb-users.ts'
import type { AuthWorld } from './auth/world.ts'
import type { Front, RequestReport } from './http/serve.ts'
import type { Analytics } from './rest/analytics.ts'
import type { Log } from './start/log.ts'
import type { Metrics, OperationMetrics } from './start/metrics.ts'
import type { Options } from './start/options.ts'
import type { Clock, Store } from './start/store.ts'
import type { Accounts } from './storage/account.ts'
import { getServiceProperties } from './storage/service.ts'

/** What a service is started with. */
export type RunContext = {
  readonly options: Options
  readonly accounts: Accounts
  readonly smbUsers?: SmbUsers | undefined
  /** Where tokens are taken. */
  readonly bearer?: BearerValidator | undefined
  readonly clock: Clock
  readonly log: Log
  readonly store: Store
  readonly metrics: Metrics
}

/** Only containers of blobs can be opened to everybody. */
export const NO_PUBLIC_ACCESS: AuthWorld['publicAccess'] = () => Promise.resolve(undefined)

type Own<Service> = Pick<Front<Service>, 'name' | 'serverHeader' | 'table' | 'service'>

export function frontOf<Service>(
  context: RunContext,
  own: Own<Service>,
  world: () => AuthWorld,
): Front<Service> {
  const { options, accounts, store, log, metrics } = context
  return {
    ...own,
    accounts,
    pathStyleOnly: options.disableProductStyleUrl,
    strictVersion: options.strictApiVersion && !options.skipApiVersionCheck,
    loose: options.loose,
    world,
    properties: (account) =>
      store.kv.read((tx) => getServiceProperties(tx, { account, service: own.name })),
    observe: observer(own.name, log, metrics),
    logFault: (error, requestId) => log.error('request failed', { requestId, error }),
  }
}

/** The world of authentication, but for what only the service itself knows. */
export function worldOf(
  { accounts, clock, bearer }: RunContext,
  own: Pick<AuthWorld, 'accessPolicy' | 'publicAccess'>,
): () => AuthWorld {
  return () => ({ accounts, nowMs: clock(), wallNowMs: Date.now(), bearer, ...own })
}

/** The same front, whose requests are also told to analytics. */
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
