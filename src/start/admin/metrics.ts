// Metrics for Prometheus. A request adds to plain numbers that are looked up once per operation; prom-client would hash
// the labels at each call (measured: 1.3 µs per request). prom-client only formats the output, and is loaded at the
// first scrape (about 30 ms and 8 MiB).

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

/** A number that is read at each scrape, such as the size of the store. */
export type Gauge = {
  /** By default, a gauge. A counter only grows. */
  readonly type?: 'gauge' | 'counter'
  readonly name: string
  readonly help: string
  readonly labels?: Readonly<Record<string, string>>
  readonly read: () => number
}

/** A counter with one label, whose values are known in advance: each starts at 0. */
export type Counter<Value extends string> = {
  readonly name: string
  readonly help: string
  readonly label: string
  readonly values: readonly Value[]
}

export type Metrics = {
  /** Returns a function that adds one. */
  counter<Value extends string>(counter: Counter<Value>): (value: Value) => void
  operation(service: string, operation: string): OperationMetrics
  /** The metrics as text for Prometheus, with its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>
}

// Seconds: a Get Blob takes well under a millisecond, a gigabyte some seconds.
const BOUNDS = [
  0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

const CONFLICT_KINDS = ['409', '412', 'lease', 'share violation'] as const

export type ConflictKind = (typeof CONFLICT_KINDS)[number]

/** The kind of conflict; undefined if it was none. */
export function conflictKind(status: number, code: string | undefined): ConflictKind | undefined {
  if (status !== 409 && status !== 412) return undefined
  if (code?.startsWith('Lease')) return 'lease'
  if (code === 'SharingViolation' || code === 'FileLockConflict') return 'share violation'
  return status === 409 ? '409' : '412'
}

type Operation = {
  readonly labels: Readonly<Record<string, string>>
  readonly statuses: Map<number, number>
  readonly conflicts: Map<ConflictKind, number>
  /** One more than the bounds: the last is for everything slower. */
  readonly buckets: Float64Array
  seconds: number
  requestBytes: number
  responseBytes: number
}

export function createMetrics(gauges: readonly Gauge[]): Metrics {
  const operations = new Map<string, Operation>()
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
      const key = `${service} ${name}`
      const found = operations.get(key) ?? newOperation({ service, operation: name })
      operations.set(key, found)
      return { record: (outcome) => record(found, outcome) }
    },
    async expose() {
      const { AggregatorRegistry } = await import('prom-client')
      // It is meant for the metrics of other processes, but takes plain numbers such as ours.
      const registry = AggregatorRegistry.aggregate([
        [
          ...requestFamilies([...operations.values()]),
          ...counters.map(({ counter, counts }) => counterFamily(counter, counts)),
          ...gaugeFamilies(gauges),
        ],
      ])
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}

function newOperation(labels: Readonly<Record<string, string>>): Operation {
  return {
    labels,
    statuses: new Map(),
    conflicts: new Map(),
    buckets: new Float64Array(BOUNDS.length + 1),
    seconds: 0,
    requestBytes: 0,
    responseBytes: 0,
  }
}

function record(operation: Operation, outcome: RequestOutcome): void {
  const { status, errorCode, durationMs } = outcome
  operation.statuses.set(status, (operation.statuses.get(status) ?? 0) + 1)
  if (status === 409 || status === 412) {
    const kind = conflictKind(status, errorCode)
    if (kind) operation.conflicts.set(kind, (operation.conflicts.get(kind) ?? 0) + 1)
  }
  const seconds = durationMs / 1000
  let bucket = 0
  while (seconds > (BOUNDS[bucket] ?? Infinity)) bucket += 1
  operation.buckets[bucket] = (operation.buckets[bucket] ?? 0) + 1
  operation.seconds += seconds
  operation.requestBytes += outcome.requestBytes
  operation.responseBytes += outcome.responseBytes
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
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly Sample[]
  readonly aggregator: 'sum'
}

function family(
  type: Family['type'],
  name: string,
  help: string,
  values: readonly Sample[],
): Family {
  return { type, name, help, values, aggregator: 'sum' }
}

function requestFamilies(operations: readonly Operation[]): readonly Family[] {
  const of = (sample: (operation: Operation) => readonly Sample[]): readonly Sample[] =>
    operations.flatMap(sample)
  return [
    family('counter', 'lazuli_requests_total', 'Requests by operation and status', of(byStatus)),
    family(
      'histogram',
      DURATION,
      'Time from the start of a request to the end of its response',
      of(byDuration),
    ),
    family(
      'counter',
      'lazuli_request_bytes_total',
      'Bytes of request bodies',
      of(({ labels, requestBytes }) => [{ labels, value: requestBytes }]),
    ),
    family(
      'counter',
      'lazuli_response_bytes_total',
      'Bytes of response bodies',
      of(({ labels, responseBytes }) => [{ labels, value: responseBytes }]),
    ),
    family(
      'counter',
      'lazuli_conflicts_total',
      'Requests refused because of a conflict, by kind',
      of(byConflict),
    ),
  ]
}

const DURATION = 'lazuli_request_duration_seconds'

function byStatus({ labels, statuses }: Operation): readonly Sample[] {
  return [...statuses].map(([status, value]) => ({ labels: { ...labels, status }, value }))
}

/** All kinds appear from the first request on, so that rates start at zero. */
function byConflict({ labels, conflicts }: Operation): readonly Sample[] {
  return CONFLICT_KINDS.map((kind) => ({
    labels: { ...labels, kind },
    value: conflicts.get(kind) ?? 0,
  }))
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
  { name, help, label }: Counter<string>,
  counts: ReadonlyMap<string, number>,
): Family {
  const values = [...counts].map(([of, value]) => ({ labels: { [label]: of }, value }))
  return family('counter', name, help, values)
}

function gaugeFamilies(gauges: readonly Gauge[]): readonly Family[] {
  const first = new Map(gauges.map((gauge) => [gauge.name, gauge]))
  return [...first].map(([name, { help, type = 'gauge' }]) => {
    const same = gauges.filter((gauge) => gauge.name === name)
    const values = same.map(({ labels = {}, read }) => ({ labels, value: read() }))
    return family(type, name, help, values)
  })
}
