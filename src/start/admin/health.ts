// `lazuli health`: checks whether the running server is ready, for the HEALTHCHECK of a container.
import { nodeHttp } from '../../http/protocol/node-modules.ts'
import { connectHost, urlOf } from '../host.ts'
import type { Options } from '../options/options.ts'
import { errorReason } from '../start-error.ts'

const TIMEOUT_MS = 5000

export type Health = { readonly exitCode: 0 | 1; readonly line: string }

export async function checkHealth(
  options: Pick<Options, 'adminHost' | 'adminPort'>,
  timeoutMs: number = TIMEOUT_MS,
): Promise<Health> {
  const url = `${urlOf('http', connectHost(options.adminHost), options.adminPort)}/health/ready`
  try {
    const status = await getStatus(url, timeoutMs)
    return status === 200
      ? { exitCode: 0, line: 'ready' }
      : { exitCode: 1, line: `not ready: ${url} answers ${status}` }
  } catch (error) {
    return { exitCode: 1, line: `not ready: ${url}: ${errorReason(error)}` }
  }
}

/** The timeout covers the whole exchange: a server that trickles bytes is not healthy. */
function getStatus(url: string, timeoutMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const request = nodeHttp().get(url, { agent: false, signal }, (response) => {
      response.destroy()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', (error) =>
      reject(signal.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : error),
    )
  })
}
