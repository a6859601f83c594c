// A handler that is loaded with the first request: each file costs time at the start, and many servers are started for one service.
import type { RequestHandler } from './exchange.ts'

export function handlerLater(
  load: () => Promise<RequestHandler>,
  logFault: RequestHandler['logFault'],
): RequestHandler {
  let loading: Promise<RequestHandler> | undefined
  let loaded: RequestHandler | undefined
  return {
    handle: async (exchange) => {
      if (loaded !== undefined) return loaded.handle(exchange)
      loading ??= load()
      loaded = await loading
      return loaded.handle(exchange)
    },
    logFault: (error, requestId) => (loaded?.logFault ?? logFault)(error, requestId),
  }
}
