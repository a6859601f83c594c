// The Queue service put together.
import type { RequestHandler } from './http/exchange.ts'
import { handlerOf } from './http/serve.ts'
import type { Analytics } from './rest/analytics.ts'
import { QUEUE_SERVER_HEADER, queueAccessPolicy } from './rest/queue/front.ts'
import { QUEUE_TABLE } from './rest/queue/operations.ts'
import type { QueueService } from './rest/queue/service.ts'
import { frontOf, NO_PUBLIC_ACCESS, withAnalytics, worldOf, type RunContext } from './run-front.ts'

export function runQueue(context: RunContext, analytics: Analytics): RequestHandler {
  const service: QueueService = { ...context.store, accounts: context.accounts }
  const world = worldOf(context, {
    accessPolicy: (request, id) => queueAccessPolicy(service, request, id),
    publicAccess: NO_PUBLIC_ACCESS,
  })
  const serverHeader = QUEUE_SERVER_HEADER
  const own = { name: 'queue', serverHeader, table: QUEUE_TABLE, service } as const
  return handlerOf(withAnalytics(frontOf(context, own, world), analytics))
}
