// Assembles the Queue service.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { handlerOf } from '../http/door/serve.ts'
import type { Analytics } from '../rest/blob/log/analytics.ts'
import { refusingHeld } from '../rest/shared/held-name.ts'
import { QUEUE_SERVER_HEADER, queueAccessPolicy } from '../rest/queue/front.ts'
import { QUEUE_TABLE } from '../rest/queue/operations.ts'
import { queueName, type QueueService } from '../rest/queue/service.ts'
import { frontOf, nameReuseMs, NO_PUBLIC_ACCESS, worldOf, type RunContext } from './front.ts'

export function runQueue(context: RunContext, analytics: Analytics): RequestHandler {
  const { store, accounts } = context
  const service: QueueService = {
    ...store,
    accounts,
    nameReuseMs: nameReuseMs(context),
    world: () => world(),
  }
  const world = worldOf(context, {
    accessPolicy: (request, id) => queueAccessPolicy(service, request, id),
    publicAccess: NO_PUBLIC_ACCESS,
  })
  const serverHeader = QUEUE_SERVER_HEADER
  const table = service.nameReuseMs === 0 ? QUEUE_TABLE : refusingHeld(QUEUE_TABLE, queueName)
  const own = { name: 'queue', serverHeader, table, service } as const
  return handlerOf(frontOf(context, own, world, analytics))
}
