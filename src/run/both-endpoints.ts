// The Blob service and Data Lake Storage answer each other's requests on both of their ports: clients with account names
// in the path send them to one URL.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { endpointOf, type Ports } from '../rest/datalake/endpoint.ts'
import type { RunContext } from './front.ts'

export function bothEndpoints(
  { accounts, options: { disableProductStyleUrl: pathStyleOnly } }: RunContext,
  port: Ports['port'],
  handlers: Readonly<Record<Ports['port'], RequestHandler>>,
): RequestHandler {
  const ports = { accounts, pathStyleOnly, port }
  return {
    handle: (exchange) => handlers[endpointOf(exchange.head, ports)].handle(exchange),
    logFault: (error, requestId) => handlers[port].logFault(error, requestId),
  }
}
