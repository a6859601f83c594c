// The type of a benchmark row, and helpers that rows share.
import { mustCall } from './call.ts'
import type { Running, Service } from './target.ts'
import type { LoadRequest, Outcome } from './wrk.ts'

export type Row = {
  readonly name: string
  readonly work: string
  readonly service: Service
  /** Minimal ratios to Azurite's, the bare server's and another row's rate, or a minimal rate. */
  readonly goal: {
    readonly azurite?: number
    readonly bare?: number
    readonly row?: { readonly name: string; readonly ratio: number }
    readonly perSecond?: number
  }
  readonly onBare: boolean
  /** false: Azurite does not have the service. */
  readonly onAzurite?: boolean
  /** Numbers in the names before they repeat; 0 for never. */
  readonly numberCount: number
  readonly answerBytesMin: number
  /** Minimal duration on Azurite, for work that it does only a few times per second. */
  readonly azuriteSMin: number
  /** Instead of the usual number, for work of which a second has few: all connections would be answered at its end. */
  readonly connectionCount?: number
  request(server: Running): LoadRequest
  /** Replaces wrk for work that is more than a request; returns how much was done in what time. */
  drive?(server: Running, round: number): Promise<Outcome>
  /** `folder`: for the files of load. */
  prepare(server: Running, folder: string): Promise<void>
  /** Throws unless the work with this number was done. */
  check(server: Running, number: number): Promise<void>
}

export const LONG_LIST_CONNECTIONS = 4

/** Each row has its own container, with the row's name. */
export function blobUrl(server: Running, container: string, blob = 'blob-{n}', query = ''): string {
  return `${server.endpoint('blob')}/${container}/${blob}?${query}${server.sas}`
}

export function putRequest(server: Running, container: string, bodyBytes: number): LoadRequest {
  return {
    method: 'PUT',
    url: blobUrl(server, container),
    headers: { 'x-ms-blob-type': 'BlockBlob', 'Content-Type': 'application/octet-stream' },
    body: 'x'.repeat(bodyBytes),
  }
}

export async function createContainer(server: Running, container: string): Promise<void> {
  const url = `${server.endpoint('blob')}/${container}?restype=container&${server.sas}`
  await mustCall(url, { method: 'PUT', body: '' })
}

export async function checkLength(url: string, lengthBytes: number): Promise<void> {
  const body = await mustCall(url)
  if (body.length !== lengthBytes) throw new Error(`${url}: ${body.length} bytes`)
}
