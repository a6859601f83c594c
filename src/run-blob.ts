// The Blob service put together: its front, the copies that go on behind it, analytics logs and static
// websites.
import type { AuthWorld } from './auth/world.ts'
import type { RequestHandler } from './http/listener.ts'
import { handlerOf } from './http/serve.ts'
import { createAnalytics, type Analytics } from './rest/analytics.ts'
import { CopyJobs } from './rest/blob/copy-job.ts'
import { blobAccessPolicy, blobPublicAccess, BLOB_SERVER_HEADER } from './rest/blob/front.ts'
import { BLOB_TABLE } from './rest/blob/operations.ts'
import type { BlobService, CopySources } from './rest/blob/service.ts'
import { websiteHandler } from './rest/blob/website.ts'
import { frontOf, withAnalytics, worldOf, type RunContext } from './run-front.ts'

export type RunningBlob = {
  readonly handler: RequestHandler
  readonly website: RequestHandler
  readonly analytics: Analytics
  /** Takes up the copies that a stop or a crash has cut off. */
  resumeCopies(): Promise<void>
  /** Ends the copies under way; they are taken up at the next start. */
  stopCopies(): Promise<void>
  /** Lets go of sources that requests still read. */
  end(): void
}

export function runBlob(context: RunContext, listens: CopySources['listens']): RunningBlob {
  const { store, accounts } = context
  const { copySources, copyJobs, end } = copiesOf(context, listens)
  const service: BlobService = {
    ...store,
    accounts,
    recycle: (chunk) => store.extents.recycle(chunk),
    world: () => world(),
    copySources,
    copyJobs,
  }
  const accessPolicy: AuthWorld['accessPolicy'] = (request, id) =>
    blobAccessPolicy(service, request, id)
  const publicAccess: AuthWorld['publicAccess'] = (request) => blobPublicAccess(service, request)
  const world = worldOf(context, { accessPolicy, publicAccess })
  const own = {
    name: 'blob',
    serverHeader: BLOB_SERVER_HEADER,
    table: BLOB_TABLE,
    service,
  } as const
  const analytics = createAnalytics(service)
  const front = withAnalytics(frontOf(context, own, world), analytics)
  return {
    handler: handlerOf(front),
    website: websiteHandler(service, front.logFault),
    analytics,
    resumeCopies: () => copyJobs.resume(),
    stopCopies: () => copyJobs.close(),
    end,
  }
}

/** Copies from URLs: what they may read, and those that go on when they have been answered. */
function copiesOf({ options, log, store }: RunContext, listens: CopySources['listens']) {
  const ending = new AbortController()
  const copySources = {
    patterns: options.allowCopyFrom,
    pathStyleOnly: options.disableProductStyleUrl,
    signal: ending.signal,
    listens,
  }
  const report = (error: unknown) => log.error('a copy failed', { error })
  const copyJobs = new CopyJobs({ ...store, copySources, report })
  return { copySources, copyJobs, end: () => ending.abort() }
}
