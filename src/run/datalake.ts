// Assembles Data Lake Storage: the Blob service at its second endpoint, with operations and errors of its own.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { handlerOf } from '../http/door/serve.ts'
import type { Analytics } from '../rest/blob/log/analytics.ts'
import type { BlobService } from '../rest/blob/service.ts'
import { LAKE_SERVER_HEADER, lakeErrorAnswer } from '../rest/datalake/error.ts'
import { LAKE_TABLE } from '../rest/datalake/operations.ts'
import { frontOf, type RunContext } from './front.ts'

export function runDatalake(
  context: RunContext,
  service: BlobService,
  analytics: Analytics,
): RequestHandler {
  const own = {
    name: 'dfs',
    serverHeader: LAKE_SERVER_HEADER,
    table: LAKE_TABLE,
    service,
    errorAnswer: lakeErrorAnswer,
  } as const
  return handlerOf(frontOf(context, own, service.world, analytics))
}
