// A handler that is loaded with the first request: each file costs start-up time, and many servers are started for
// one service only.
import type { RequestHandler } from './exchange.ts'

export function lazyHandler(
  load: () => Promise<RequestHandler>,
  logFault: RequestHandler['logFault'],
): RequestHandler {
  let loading: Promise<RequestHandler> | undefined
  let loaded: RequestHandler | undefined
  const loadAndHandle: RequestHandler['handle'] = async (exchange) => {
    loading ??= load()
    loaded = await loading
    return loaded.handle(exchange)
  }
  return {
    handle: (exchange) =>
      loaded === undefined ? loadAndHandle(exchange) : loaded.handle(exchange),
    logFault: (error, requestId) => (loaded?.logFault ?? logFault)(error, requestId),
  }
}
