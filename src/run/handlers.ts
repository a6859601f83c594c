// What answers requests: a handler for each endpoint over HTTP.
import type { RequestHandler } from '../http/protocol/exchange.ts'
import { lazyHandler } from '../http/protocol/lazy-handler.ts'
import type { EndpointName } from '../start/options/services.ts'
import type { RunningBlob } from './blob.ts'
import { bothEndpoints } from './both-endpoints.ts'
import type { Files } from './files.ts'
import type { RunContext } from './front.ts'

export type HttpService = Exclude<EndpointName, 'smb'>

export type Handlers = Readonly<Record<HttpService, RequestHandler>>

/** Queues and tables are loaded with their first request. */
export function handlersOf(context: RunContext, blob: RunningBlob, files: Files): Handlers {
  const paths = { blob: files.blobHandler(blob.handler), dfs: blob.dfs }
  const loaded = (load: () => Promise<RequestHandler>) =>
    lazyHandler(load, (error) => context.log.error('a service failed to load', { error }))
  return {
    blob: bothEndpoints(context, 'blob', paths),
    dfs: bothEndpoints(context, 'dfs', paths),
    queue: loaded(async () => (await import('./queue.ts')).runQueue(context, blob.analytics)),
    table: loaded(async () => (await import('./table.ts')).runTable(context, blob.analytics)),
    file: files.handler,
  }
}
