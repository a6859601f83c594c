// The header names that are specific to a response, for comparison with those recorded from Azure: without the headers
// of every response and those of its framing.
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

/** Sorted, in lower case, separated by spaces. */
export function ownHeaders({ headers }: Pick<RawResponse, 'headers'>): string {
  const names = Object.keys(headers).filter((name) => !COMMON.has(name))
  return names.sort().join(' ')
}
