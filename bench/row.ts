// What a row of the benchmark is, and what rows share.
import { mustCall } from './call.ts'
import type { Running, Service } from './target.ts'
import type { LoadRequest, Outcome } from './wrk.ts'

export type Row = {
  readonly name: string
  readonly work: string
  readonly service: Service
  /** Times Azurite's, the bare server's and another row's rate; left out where there is no like. */
  readonly goal: {
    readonly azurite?: number
    readonly bare?: number
    readonly row?: { readonly name: string; readonly ratio: number }
  }
  readonly onBare: boolean
  /** false: it has no such service. */
  readonly onAzurite?: boolean
  /** Numbers in the names before they repeat; 0 for never. */
  readonly numberCount: number
  readonly answerBytesMin: number
  /** On Azurite: a second says nothing of work that it does twenty times a second. */
  readonly azuriteSMin: number
  request(server: Running): LoadRequest
  /** Instead of wrk, for work that is no request: answers how much was done in which time. */
  drive?(server: Running, round: number): Promise<Outcome>
  prepare(server: Running): Promise<void>
  /** Throws unless the work with this number was really done. */
  check(server: Running, number: number): Promise<void>
}

/** Each row has a container of its own, by its name. */
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
