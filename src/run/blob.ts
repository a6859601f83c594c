// Assembles the Blob service: its front, background copies, queries, analytics logs and static websites.
import { availableParallelism } from 'node:os'
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { lazyHandler } from '../http/protocol/lazy-handler.ts'
import { handlerOf } from '../http/door/serve.ts'
import { QueryThreads } from '../query/run/query-threads.ts'
import { createAnalytics, type Analytics } from '../rest/blob/log/analytics.ts'
import { blobCopies } from '../rest/blob/copy/copy-job.ts'
import { BLOB_SERVER_HEADER } from '../rest/blob/front.ts'
import { BLOB_TABLE } from '../rest/blob/operations.ts'
import type { BlobService } from '../rest/blob/service.ts'
import { websiteHandler } from '../rest/blob/website.ts'
import { CopyJobs, type CopyService } from '../rest/shared/copy/copy-jobs.ts'
import type { CopySources } from '../rest/shared/copy/copy-sources.ts'
import { ClusterCopies } from './cluster/copies.ts'
import { frontOf, nameReuseMs, type RunContext } from './front.ts'
import type { Membership } from './cluster/membership.ts'

export type RunningBlob = {
  readonly handler: RequestHandler
  /** Data Lake Storage: the other endpoint of the same service. */
  readonly dfs: RequestHandler
  readonly website: RequestHandler
  readonly analytics: Analytics
  /** Resumes the copies that a shutdown or a crash interrupted. */
  resumeCopies(): Promise<void>
  /** The number of running queries. */
  queryCount(): number
  stopQueries(): Promise<void>
  /** Interrupts the running copies; the next start resumes them. */
  stopCopies(): Promise<void>
}

/** Queries share threads, so more would only take cores from the rest. */
const QUERY_THREADS_MAX = 2

export function runBlob(
  context: RunContext,
  copySources: CopySources,
  membership?: Pick<Membership, 'copies'>,
): RunningBlob {
  const { store, accounts, log } = context
  const report = (error: unknown) => log.error('a copy failed', { error })
  const copies = runCopies({ ...store, copySources, report }, membership)
  const queryThreads = new QueryThreads(
    Math.max(1, Math.min(availableParallelism() - 1, QUERY_THREADS_MAX)),
  )
  const { world } = copySources.services.blob
  const service: BlobService = {
    ...store,
    accounts,
    nameReuseMs: nameReuseMs(context),
    recycle: (chunk) => store.extents.recycle(chunk),
    world,
    copySources,
    copyJobs: copies.queue,
    queryThreads,
    reportRefusal: (refusal) => context.metrics.refusal('blob', refusal),
  }
  const own = {
    name: 'blob',
    serverHeader: BLOB_SERVER_HEADER,
    table: BLOB_TABLE,
    service,
  } as const
  const analytics = createAnalytics(service)
  const front = frontOf(context, own, world, analytics)
  return {
    handler: handlerOf(front),
    dfs: lazyHandler(
      async () => (await import('./datalake.ts')).runDatalake(context, service, analytics),
      (error) => log.error('a service failed to load', { error }),
    ),
    website: websiteHandler(service, front),
    analytics,
    resumeCopies: () => copies.resume(),
    queryCount: () => queryThreads.queryCount,
    stopQueries: () => queryThreads.close(),
    stopCopies: () => copies.close(),
  }
}

type RunningCopies = {
  readonly queue: BlobService['copyJobs']
  resume(): Promise<void>
  close(): Promise<void>
}

function runCopies(
  service: CopyService,
  membership: Pick<Membership, 'copies'> | undefined,
): RunningCopies {
  const open = (kv: CopyService['kv']) => {
    const own = { ...service, kv }
    return new CopyJobs(own, blobCopies(own))
  }
  if (membership === undefined) {
    const jobs = open(service.kv)
    return { queue: jobs, resume: () => jobs.resume(), close: () => jobs.close() }
  }
  const copies = new ClusterCopies({
    term: () => membership.copies(),
    open: ({ kv }) => open(kv),
    report: (error) => service.report(error),
  })
  return { queue: copies, resume: () => copies.look(), close: () => copies.close() }
}
