// The parts that the fronts of all services share: accounts, clocks, tokens, properties, logs and metrics.
import type { BearerValidator } from '../auth/token/bearer.ts'
import { serviceOfEndpoint, type HttpEndpoint } from '../auth/request.ts'
import { perTurn } from '../memory/per-turn.ts'
import type { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { Control } from '../control/control.ts'
import type { NewEntry } from '../control/entry.ts'
import type { Journal } from '../control/journal.ts'
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
import { getServiceProperties } from '../storage/shared/service/service.ts'

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
  /** The clock under the one that people control: for the times of a SAS. */
  readonly baseClock: Clock
  /** The clock that decides how old a signature may be; by default, the machine's. */
  readonly wallClock?: Clock
  readonly log: Log
  readonly store: Store
  readonly metrics: Metrics
  /** A timer on the machine's clock. */
  readonly afterRealTime: (delayMs: number, then: () => unknown) => () => void
  readonly control: Control
}

/** Only blob containers can be public. */
export const NO_PUBLIC_ACCESS: AuthWorld['publicAccess'] = () => Promise.resolve(undefined)

type Own<Service> = Pick<Front<Service>, 'name' | 'serverHeader' | 'table' | 'service'> &
  Partial<Pick<Front<Service>, 'errorAnswer'>>

export function frontOf<Service>(
  context: RunContext,
  own: Own<Service>,
  world: () => AuthWorld,
  analytics?: Analytics,
): Front<Service> {
  const { options, accounts, log, store, control } = context
  const service = serviceOfEndpoint(own.name)
  return {
    errorAnswer,
    ...own,
    accounts,
    pathStyleOnly: options.disableProductStyleUrl,
    acceptsHost: context.acceptsHost,
    strictVersion: options.strictApiVersion && !options.skipApiVersionCheck,
    loose: options.loose,
    world,
    properties: perTurn((account) =>
      store.kv.read((tx) => getServiceProperties(tx, { account, service })),
    ),
    watching: control.watching,
    observe: observer(own.name, context, analytics),
    logFault: (error, requestId) => log.error('request failed', { requestId, error }),
  }
}

export function nameReuseMs({ options }: Pick<RunContext, 'options'>): number {
  return options.nameReuseSeconds * 1_000
}

/** The world of authentication; the service itself adds access policies and public access. */
export function worldOf(
  { accounts, baseClock, wallClock = Date.now, bearer }: RunContext,
  own: Pick<AuthWorld, 'accessPolicy' | 'publicAccess'>,
): () => AuthWorld {
  return () => ({ accounts, nowMs: baseClock(), wallNowMs: wallClock(), bearer, ...own })
}

function observer(
  service: HttpEndpoint,
  { log, metrics, control: { journal } }: RunContext,
  analytics?: Analytics,
) {
  const operations = new Map<string, OperationMetrics>()
  return (report: RequestReport): void => {
    if (journal !== undefined) recordRequest(journal, service, report)
    // Nothing was answered, so there is nothing to log or to count.
    if (report.status === 0) return
    let operation = operations.get(report.operation)
    if (operation === undefined) {
      operation = metrics.operation(service, report.operation)
      operations.set(report.operation, operation)
    }
    operation.record(report)
    log.access?.({
      ...report,
      nowMs: Date.now(),
      bytes: report.responseBytes,
      clientRequestId: headerText(report.head, 'x-ms-client-request-id'),
    })
    analytics?.record(report)
  }
}

function headerText({ headers }: RequestReport['head'], name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

function recordRequest(journal: Journal, service: HttpEndpoint, report: RequestReport): void {
  const { resource, watch, head } = report
  const path = resource?.path ?? NO_PATH
  const refusal = watch?.refusal
  const entry: NewEntry = {
    startedMs: watch?.startedMs ?? Date.now() - report.durationMs,
    durationMs: report.durationMs,
    service,
    operation: report.operation,
    writes: report.writes,
    account: resource?.account ?? '',
    path,
    headText: head.text,
    address: report.remoteAddress,
    connection: report.connection,
    identity: report.via ?? report.identity?.kind ?? 'unknown',
    requestId: report.requestId,
    status: refusal?.status ?? report.status,
    errorCode: refusal?.errorCode ?? report.errorCode,
    notes: watch?.takeNotes(path.length > 1) ?? [],
  }
  journal.record(entry)
  const parts = watch?.parts
  if (parts !== undefined) for (const part of parts) journal.record({ ...entry, ...part })
}

const NO_PATH: readonly string[] = []
