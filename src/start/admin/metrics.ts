// Metrics for Prometheus. A request adds to plain numbers that are looked up once per operation; prom-client would hash
// the labels at each call (measured: 1.3 µs per request). prom-client only formats the output, and is loaded at the
// first scrape (about 30 ms and 8 MiB).
import { isRefusedByState } from '../../control/refusal.ts'
import { METRICS, type Metric, type MetricName } from './metric-table.ts'

export type RequestOutcome = {
  readonly status: number
  /** The service's error code, such as LeaseIdMissing; undefined on success. */
  readonly errorCode: string | undefined
  readonly durationMs: number
  readonly requestBytes: number
  readonly responseBytes: number
}

/** The metrics of one operation of one service. The caller keeps them, to save a lookup per request. */
export type OperationMetrics = { record(outcome: RequestOutcome): void }

/** A gauge or counter that is read at each scrape, such as the size of the store. */
export type Gauge = {
  readonly name: MetricName
  readonly labels?: Readonly<Record<string, string>>
  /** undefined: there is nothing to show now. */
  readonly read: () => number | undefined | Promise<number | undefined>
}

/** A counter with one label, whose values are known in advance: each starts at 0. */
export type Counter<Value extends string> = {
  readonly name: MetricName
  readonly label: string
  readonly values: readonly Value[]
}

type Refusal = {
  /** Of HTTP, or the name of an NTSTATUS. */
  readonly status: number | string
  readonly errorCode: string | undefined
}

export type Totals = {
  readonly requestCount: number
  readonly conflictCount: number
  /** How many requests took so long, without those in the rows before. The last row has no bound. */
  readonly durations: readonly { readonly upToMs?: number; readonly count: number }[]
}

export type Metrics = {
  /** Returns a function that adds one. */
  counter<Value extends string>(counter: Counter<Value>): (value: Value) => void
  operation(service: string, operation: string): OperationMetrics
  /** Counts only the error, for what is no HTTP request of its own: the part of a batch, an SMB command. */
  refusal(service: string, refusal: Refusal & { readonly operation: string }): void
  /** Of all operations together. */
  totals(): Totals
  /** The metrics as text for Prometheus, with its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>
}

// Seconds: a Get Blob takes well under a millisecond, a gigabyte some seconds.
const BOUNDS = [
  0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

/** The request proves nobody's identity. */
const LOGIN_CODES = [
  'AuthenticationFailed',
  'InvalidAuthenticationInfo',
  'NoAuthenticationInformation',
] as const

type Operation = {
  readonly labels: Readonly<Record<string, string>>
  readonly statuses: Map<number, number>
  /** By error code. */
  readonly conflicts: Map<string, number>
  /** Failed logins of the whole service, by error code. */
  readonly logins: Map<string, number>
  /** One more than the bounds: the last is for everything slower. */
  readonly buckets: Float64Array
  seconds: number
  requestBytes: number
  responseBytes: number
}

export function createMetrics(gauges: readonly Gauge[]): Metrics {
  const operations = new Map<string, Operation>()
  const logins = new Map<string, Map<string, number>>()
  const operationOf = (service: string, operation: string): Operation => {
    const key = `${service} ${operation}`
    const known = operations.get(key)
    if (known !== undefined) return known
    const ofService = logins.get(service) ?? new Map(LOGIN_CODES.map((code) => [code, 0]))
    logins.set(service, ofService)
    const created = newOperation({ service, operation }, ofService)
    operations.set(key, created)
    return created
  }
  const counters: { readonly counter: Counter<string>; readonly counts: Map<string, number> }[] = []
  return {
    counter(counter) {
      const counts = new Map<string, number>(counter.values.map((value) => [value, 0]))
      counters.push({ counter, counts })
      return (value) => {
        counts.set(value, (counts.get(value) ?? 0) + 1)
      }
    },
    operation(service, name) {
      const found = operationOf(service, name)
      return { record: (outcome) => record(found, outcome) }
    },
    refusal: (service, refusal) => recordRefusal(operationOf(service, refusal.operation), refusal),
    totals: () => totalsOf([...operations.values()]),
    async expose() {
      const { AggregatorRegistry } = await import('prom-client')
      // It is meant for the metrics of other processes, but takes plain numbers such as ours.
      const registry = AggregatorRegistry.aggregate([
        [
          ...requestFamilies([...operations.values()]),
          ...counters.map(({ counter, counts }) => counterFamily(counter, counts)),
          ...(await gaugeFamilies(gauges)),
        ],
      ])
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

function totalsOf(operations: readonly Operation[]): Totals {
  const counts = Array.from({ length: BOUNDS.length + 1 }, (_, at) =>
    sumOf(operations.map(({ buckets }) => buckets[at] ?? 0)),
  )
  return {
    requestCount: sumOf(counts),
    conflictCount: sumOf(operations.flatMap(({ conflicts }) => [...conflicts.values()])),
    durations: counts.map((count, at) => {
      const bound = BOUNDS[at]
      return { ...(bound !== undefined && { upToMs: bound * 1_000 }), count }
    }),
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0)
}

function newOperation(labels: Operation['labels'], logins: Operation['logins']): Operation {
  return {
    labels,
    statuses: new Map(),
    conflicts: new Map(),
    logins,
    buckets: new Float64Array(BOUNDS.length + 1),
    seconds: 0,
    requestBytes: 0,
    responseBytes: 0,
  }
}

function record(operation: Operation, outcome: RequestOutcome): void {
  const { status, errorCode, durationMs } = outcome
  operation.statuses.set(status, (operation.statuses.get(status) ?? 0) + 1)
  if (errorCode !== undefined) recordRefusal(operation, outcome)
  const seconds = durationMs / 1000
  let bucket = 0
  while (seconds > (BOUNDS[bucket] ?? Infinity)) bucket += 1
  operation.buckets[bucket] = (operation.buckets[bucket] ?? 0) + 1
  operation.seconds += seconds
  operation.requestBytes += outcome.requestBytes
  operation.responseBytes += outcome.responseBytes
}

function recordRefusal({ conflicts, logins }: Operation, refusal: Refusal): void {
  const { errorCode = '' } = refusal
  if (logins.has(errorCode)) logins.set(errorCode, (logins.get(errorCode) ?? 0) + 1)
  if (isRefusedByState(refusal)) conflicts.set(errorCode, (conflicts.get(errorCode) ?? 0) + 1)
}

// The format in which prom-client's registries exchange metrics.

type Sample = {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

type Family = {
  readonly name: string
  readonly help: string
  readonly type: Metric['type']
  readonly values: readonly Sample[]
  readonly aggregator: 'sum'
}

function family(name: MetricName, values: readonly Sample[]): Family {
  const { type, help } = METRICS[name]
  return { type, name, help, values, aggregator: 'sum' }
}

function requestFamilies(operations: readonly Operation[]): readonly Family[] {
  const requested = operations.filter(({ statuses }) => statuses.size > 0)
  const of = (sample: (operation: Operation) => readonly Sample[]): readonly Sample[] =>
    requested.flatMap(sample)
  return [
    family('lazuli_requests_total', of(byStatus)),
    family(DURATION, of(byDuration)),
    family(
      'lazuli_request_bytes_total',
      of(({ labels, requestBytes }) => [{ labels, value: requestBytes }]),
    ),
    family(
      'lazuli_response_bytes_total',
      of(({ labels, responseBytes }) => [{ labels, value: responseBytes }]),
    ),
    family('lazuli_authentication_failures_total', byLogin(requested)),
    family('lazuli_conflicts_total', operations.flatMap(byConflict)),
  ]
}

const DURATION = 'lazuli_request_duration_seconds'

function byStatus({ labels, statuses }: Operation): readonly Sample[] {
  return [...statuses].map(([status, value]) => ({ labels: { ...labels, status }, value }))
}

/** Only codes that have happened: most operations can't have most of them. */
function byConflict({ labels, conflicts }: Operation): readonly Sample[] {
  return [...conflicts].map(([code, value]) => ({ labels: { ...labels, code }, value }))
}

function byLogin(operations: readonly Operation[]): readonly Sample[] {
  const services = new Map(operations.map(({ labels, logins }) => [labels['service'], logins]))
  return [...services].flatMap(([service = '', counts]) =>
    [...counts].map(([code, value]) => ({ labels: { service, code }, value })),
  )
}

/** Prometheus wants cumulative buckets; ours are not, so that a request adds to only one. */
function byDuration({ labels, buckets, seconds }: Operation): readonly Sample[] {
  let count = 0
  const samples = [...buckets].map((added, index): Sample => {
    count += added
    const le = BOUNDS[index] ?? '+Inf'
    return { metricName: `${DURATION}_bucket`, labels: { le, ...labels }, value: count }
  })
  return [
    ...samples,
    { metricName: `${DURATION}_sum`, labels, value: seconds },
    { metricName: `${DURATION}_count`, labels, value: count },
  ]
}

function counterFamily(
  { name, label }: Counter<string>,
  counts: ReadonlyMap<string, number>,
): Family {
  const values = [...counts].map(([of, value]) => ({ labels: { [label]: of }, value }))
  return family(name, values)
}

async function gaugeFamilies(gauges: readonly Gauge[]): Promise<readonly Family[]> {
  const values = await Promise.all(gauges.map(({ read }) => read()))
  const families = new Map<MetricName, Sample[]>()
  for (const [at, { name, labels = {} }] of gauges.entries()) {
    const value = values[at]
    if (value === undefined) continue
    const samples = families.get(name) ?? []
    samples.push({ labels, value })
    families.set(name, samples)
  }
  return [...families].map(([name, samples]) => family(name, samples))
}
