// Assembles the Table service.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { handlerOf } from '../http/door/serve.ts'
import type { Analytics } from '../rest/blob/log/analytics.ts'
import { refusingHeld } from '../rest/shared/held-name.ts'
import { TABLE_SERVER_HEADER, tableAccessPolicy } from '../rest/table/front.ts'
import { TABLE_TABLE } from '../rest/table/operations.ts'
import { tableErrorAnswer } from '../rest/table/table-error.ts'
import { requestedTable, type TableService } from '../rest/table/service.ts'
import { frontOf, nameReuseMs, NO_PUBLIC_ACCESS, worldOf, type RunContext } from './front.ts'

export function runTable(context: RunContext, analytics: Analytics): RequestHandler {
  const service: TableService = {
    ...context.store,
    accounts: context.accounts,
    nameReuseMs: nameReuseMs(context),
    world: () => world(),
    reportRefusal: (refusal) => context.metrics.refusal('table', refusal),
  }
  const world = worldOf(context, {
    accessPolicy: (request, id) => tableAccessPolicy(service, request, id),
    publicAccess: NO_PUBLIC_ACCESS,
  })
  const serverHeader = TABLE_SERVER_HEADER
  const table = service.nameReuseMs === 0 ? TABLE_TABLE : refusingHeld(TABLE_TABLE, requestedTable)
  const errorAnswer = tableErrorAnswer
  const own = { name: 'table', serverHeader, table, service, errorAnswer } as const
  return handlerOf(frontOf(context, own, world, analytics))
}
