// The numbers that a scrape of a server reads: its sizes, and what clients hold. Each count ends at a limit, so that a scrape
// costs no more than some milliseconds however much there is.
import { StoreUnavailable } from '../kv/engine/unavailable.ts'
import type { UnauthenticatedMemory } from '../memory/unauthenticated-memory.ts'
import type { SmbView } from '../smb/view.ts'
import { diskFreeGauge } from '../start/admin/disk-free.ts'
import type { MetricName } from '../start/admin/metric-table.ts'
import type { Gauge } from '../start/admin/metrics.ts'
import type { ServiceName } from '../start/options/services.ts'
import type { Store } from '../start/store/store.ts'
import { VERSION } from '../start/version.ts'
import { countLeased, type BoundedCount } from '../storage/shared/leased.ts'
import type { FileKv } from '../storage/file/open/open.ts'

const COUNT_MAX = 10_000
/** One scan each; a statement each, if the store is a database. */
const QUEUES_MAX = 1_000

export type GaugeSource = {
  readonly store: Pick<Store, 'kv' | 'moment' | 'sizeBytes'>
  readonly services: readonly ServiceName[]
  /** Where content is stored; undefined: in memory or in a database. */
  readonly folder: string | undefined
  readonly unauthenticated: Pick<UnauthenticatedMemory, 'bytes'>
  queryCount(): number
  /** When the last backup was complete; undefined: none was. */
  backedUpMs(): number | undefined
  /** undefined: another node is the home of the files. */
  files(): FileKv | undefined
  smb(): SmbView | undefined
}

export function serverGauges(source: GaugeSource): readonly Gauge[] {
  const { store, services, folder, unauthenticated } = source
  return [
    {
      name: 'lazuli_build_info',
      labels: { version: VERSION, node: process.versions.node },
      read: () => 1,
    },
    { name: 'lazuli_store_bytes', read: store.sizeBytes },
    ...(folder === undefined ? [] : [diskFreeGauge(folder)]),
    { name: 'lazuli_backup_completed_timestamp_seconds', read: () => backedUpSeconds(source) },
    ...PROCESS_GAUGES,
    {
      name: 'lazuli_unauthenticated_bytes',
      read: () => unauthenticated.bytes,
    },
    ...(services.includes('blob') ? [queriesGauge(source)] : []),
    ...heldGauges(source),
  ]
}

function backedUpSeconds({ backedUpMs }: GaugeSource): number | undefined {
  const completedMs = backedUpMs()
  return completedMs === undefined ? undefined : completedMs / 1_000
}

/** As other programs call them. */
const PROCESS_GAUGES: readonly Gauge[] = [
  { name: 'process_start_time_seconds', read: () => performance.timeOrigin / 1_000 },
  { name: 'process_resident_memory_bytes', read: () => process.memoryUsage.rss() },
  {
    name: 'process_cpu_seconds_total',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  },
]

function queriesGauge({ queryCount }: GaugeSource): Gauge {
  return {
    name: 'lazuli_queries_running',
    read: queryCount,
  }
}

type Held = {
  readonly name: MetricName
  /** In the gauge that says whether the count ended at its limit. */
  readonly what: string
  readonly services: readonly ServiceName[]
  count(source: GaugeSource): Promise<BoundedCount | undefined>
}

const HELD: readonly Held[] = [
  {
    name: 'lazuli_leases_active',
    what: 'leases',
    services: ['blob', 'file'],
    count: ({ store: { kv, moment } }) =>
      countLeased(kv, { countMax: COUNT_MAX, nowMs: moment().nowMs }),
  },
  {
    name: 'lazuli_messages_invisible',
    what: 'messages',
    services: ['queue'],
    count: async ({ store: { kv, moment } }) => {
      const { listHeldMessages } = await import('../storage/queue/held.ts')
      const list = { countMax: COUNT_MAX, queuesMax: QUEUES_MAX, nowMs: moment().nowMs }
      const { messages, isCut } = await listHeldMessages(kv, list)
      return { count: messages.length, isCut }
    },
  },
  {
    name: 'lazuli_smb_opens',
    what: 'opens',
    services: ['smb'],
    count: async ({ files }) => {
      const kv = files()
      if (kv === undefined) return undefined
      const { countOpens } = await import('../storage/file/held/open.ts')
      return countOpens(kv, COUNT_MAX)
    },
  },
]

function heldGauges(source: GaugeSource): readonly Gauge[] {
  const { services, smb } = source
  const counted = HELD.filter((held) => held.services.some((each) => services.includes(each)))
  const gauges = counted.flatMap((held): readonly Gauge[] => {
    const { name, what } = held
    const count = onceAtATime(() => whileAvailable(() => held.count(source)))
    return [
      { name, read: async () => (await count())?.count },
      {
        name: 'lazuli_count_is_lower_bound',
        labels: { count: what },
        read: async () => {
          const counts = await count()
          return counts && Number(counts.isCut)
        },
      },
    ]
  })
  if (!services.includes('smb')) return gauges
  return [...gauges, { name: 'lazuli_smb_sessions', read: () => smb()?.sessionCount }]
}

/** Scrapes at the same time share one count, and so do the two gauges of one scrape. */
function onceAtATime<T>(count: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= count().finally(() => {
      running = undefined
    })
    return running
  }
}

/** Without the database there are no counts, but the other metrics are wanted all the more. */
async function whileAvailable<T>(count: () => Promise<T>): Promise<T | undefined> {
  try {
    return await count()
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  }
}
