// The names of the headers that an answer has of its own, to compare with what was recorded of the service: without
// those that every answer has and those that frame it.
import type { RawResponse } from './harness.ts'

const COMMON: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'server',
  'transfer-encoding',
  'x-ms-client-request-id',
  'x-ms-request-id',
  'x-ms-version',
])

/** Sorted, in lower case, with blanks between them. */
export function ownHeaders({ headers }: Pick<RawResponse, 'headers'>): string {
  const names = Object.keys(headers).filter((name) => !COMMON.has(name))
  return names.sort().join(' ')
}
