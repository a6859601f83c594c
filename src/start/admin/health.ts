// `lazuli health`: checks whether the running server is ready, for the HEALTHCHECK of a container.
import type { IncomingHttpHeaders } from 'node:http'
import { nodeHttp } from '../../http/protocol/node-modules.ts'
import { errorReason } from '../start-error.ts'
import { DATA_HEADER, ID_HEADER } from './admin.ts'
import type { FoundAdmin } from './find-admin.ts'

const TIMEOUT_MS = 5000

export type Health = { readonly exitCode: 0 | 1; readonly line: string }

export async function checkHealth(
  admin: FoundAdmin,
  timeoutMs: number = TIMEOUT_MS,
): Promise<Health> {
  const url = `${admin.url}/health/ready`
  try {
    const { status, headers } = await getHead(url, timeoutMs)
    const other = otherServer(admin, headers)
    if (other !== undefined) return { exitCode: 1, line: `not ready: ${other}` }
    return status === 200
      ? { exitCode: 0, line: 'ready' }
      : { exitCode: 1, line: `not ready: ${url} answers ${status}` }
  } catch (error) {
    const { notInFolder } = admin
    const unused = notInFolder === undefined ? '' : `no server uses ${notInFolder}, and `
    return { exitCode: 1, line: `not ready: ${unused}${url}: ${errorReason(error)}` }
  }
}

/** Why the server that answers is not the one that is meant; undefined if it is. */
function otherServer(
  { url, id, notInFolder }: FoundAdmin,
  headers: IncomingHttpHeaders,
): string | undefined {
  if (id !== undefined && headers[ID_HEADER] !== id)
    return `the server of this data folder has ended, and another program answers at ${url}`
  // A server in memory, or with a database, has no folder that could name it.
  if (notInFolder === undefined || ['memory', 'database'].includes(String(headers[DATA_HEADER])))
    return undefined
  return `no server uses ${notInFolder}, and what answers at ${url} is another; name the port with --adminPort or the folder with --location`
}

type Head = { readonly status: number; readonly headers: IncomingHttpHeaders }

/** The timeout covers the whole exchange: a server that trickles bytes is not healthy. */
function getHead(url: string, timeoutMs: number): Promise<Head> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const request = nodeHttp().get(url, { agent: false, signal }, (response) => {
      response.destroy()
      resolve({ status: response.statusCode ?? 0, headers: response.headers })
    })
    request.on('error', (error) =>
      reject(signal.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : error),
    )
  })
}
