// Response headers that only some versions of the services send. Handlers write the newest answer; rows here
// drop what the request's version does not have. A header without a row is sent at every version.

export type HeaderRow = {
  readonly headers: readonly string[]
  /** Operations as their tables name them; undefined for every operation. */
  readonly on?: readonly string[]
  /** The first version that sends them. */
  readonly since?: string
  /** The first version that sends them no more. */
  readonly until?: string
}

const TIER = ['x-ms-access-tier', 'x-ms-access-tier-inferred', 'x-ms-access-tier-change-time']

// prettier-ignore
export const HEADER_ROWS: readonly HeaderRow[] = [
  // Blobs
  { headers: ['x-ms-content-crc64'], on: ['Put Blob'], since: '2019-02-02' },
  { headers: TIER, on: ['Get Blob', 'Query Blob Contents'], since: '2026-10-06' },
]
