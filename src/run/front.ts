// What the fronts of all services share: accounts, clocks, tokens, properties, logs and metrics.
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

/** What a service is started with. */
export type RunContext = {
  readonly options: Options
  readonly accounts: Accounts
  readonly acceptsHost: HostRule
  /** Of all ports together. */
  readonly unauthenticated: UnauthenticatedMemory
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

type Own<Service> = Pick<Front<Service>, 'name' | 'serverHeader' | 'table' | 'service'> &
  Partial<Pick<Front<Service>, 'errorAnswer'>>

export function frontOf<Service>(
  context: RunContext,
  own: Own<Service>,
  world: () => AuthWorld,
): Front<Service> {
  const { options, accounts, log, metrics } = context
  const observe = observer(own.name, log, metrics)
  const properties = knownProperties(context, own.name)
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
      if (report.operation === 'Set Service Properties') properties.forget()
      observe(report)
    },
    logFault: (error, requestId) => log.error('request failed', { requestId, error }),
  }
}

// Every answer depends on them and they hardly ever change: an account's are known until they are set, and a second
// at most, since a Set Service Properties that ran out of time may still be on its way.
const KNOWN_MS = 1_000

type Known = { readonly properties: ServiceProperties; readonly untilMs: number }

function knownProperties(
  { accounts, store }: Pick<RunContext, 'accounts' | 'store'>,
  service: ServiceName,
) {
  let known = new Map<string, Known>()
  const learn = async (account: string, nowMs: number): Promise<ServiceProperties> => {
    const before = known
    const properties = await store.kv.read((tx) => getServiceProperties(tx, { account, service }))
    // Not of any name that a client makes up; and into the map that there was, which is another after a change.
    if (accounts.get(account) !== undefined) {
      before.set(account, { properties, untilMs: nowMs + KNOWN_MS })
    }
    return properties
  }
  return {
    get(account: string): ServiceProperties | Promise<ServiceProperties> {
      const found = known.get(account)
      const nowMs = performance.now()
      return found !== undefined && nowMs < found.untilMs ? found.properties : learn(account, nowMs)
    },
    forget(): void {
      known = new Map()
    },
  }
}

export function nameReuseMs({ options }: Pick<RunContext, 'options'>): number {
  return options.nameReuseSeconds * 1_000
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
