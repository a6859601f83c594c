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
const SMART = 'x-ms-smart-access-tier'
const LEASE = ['x-ms-lease-status', 'x-ms-lease-state', 'x-ms-lease-duration']

const SMB_PROPERTIES = [
  'x-ms-file-permission-key',
  'x-ms-file-attributes',
  'x-ms-file-creation-time',
  'x-ms-file-last-write-time',
  'x-ms-file-change-time',
  'x-ms-file-id',
  'x-ms-file-parent-id',
]
/** What says that a file or directory is there, and how it is. */
const NODE_OPERATIONS = [
  'Create Directory',
  'Get Directory Properties',
  'Set Directory Properties',
  'Create File',
  'Get File',
  'Get File Properties',
  'Set File Properties',
]

const SHARE_SIZE = [
  'x-ms-share-quota',
  'x-ms-share-provisioned-iops',
  'x-ms-share-provisioned-bandwidth-mibps',
  'x-ms-share-included-burst-iops',
  'x-ms-share-max-burst-credits-for-iops',
  'x-ms-share-next-allowed-quota-downgrade-time',
]
const SHARE_PERFORMANCE = [
  'x-ms-share-provisioned-iops',
  'x-ms-share-provisioned-ingress-mbps',
  'x-ms-share-provisioned-egress-mbps',
  'x-ms-share-next-allowed-quota-downgrade-time',
]
const SHARE_BURST = ['x-ms-share-included-burst-iops', 'x-ms-share-max-burst-credits-for-iops']
const SHARE = ['Get Share Properties']

// prettier-ignore
export const HEADER_ROWS: readonly HeaderRow[] = [
  // Blobs
  { headers: ['x-ms-content-crc64'], on: ['Put Blob'], since: '2019-02-02' },
  { headers: [...TIER, SMART], on: ['Get Blob', 'Query Blob Contents'], since: '2026-10-06' },
  { headers: [SMART], on: ['Get Blob Properties'], since: '2026-06-06' },

  // Files
  { headers: SHARE_SIZE, on: ['Create Share', 'Restore Share', 'Set Share Properties'], since: '2025-01-05' },
  { headers: ['x-ms-file-share-usage-bytes', 'x-ms-file-share-snapshot-usage-bytes'], on: ['Delete Share'], since: '2025-01-05' },
  { headers: SHARE_PERFORMANCE, on: SHARE, since: '2019-07-07' },
  { headers: ['x-ms-access-tier', 'x-ms-access-tier-change-time'], on: SHARE, since: '2019-12-12' },
  { headers: [...LEASE, 'x-ms-enabled-protocols', 'x-ms-root-squash'], on: SHARE, since: '2020-02-10' },
  { headers: ['x-ms-share-provisioned-bandwidth-mibps'], on: SHARE, since: '2021-06-08' },
  { headers: ['x-ms-enable-snapshot-virtual-directory-access'], on: SHARE, since: '2023-08-03' },
  { headers: ['x-ms-share-paid-bursting-enabled'], on: SHARE, since: '2024-11-04' },
  { headers: SHARE_BURST, on: SHARE, since: '2025-01-05' },
  { headers: SMB_PROPERTIES, on: NODE_OPERATIONS, since: '2019-02-02' },
  { headers: LEASE, on: ['Get File', 'Get File Properties'], since: '2019-07-07' },
  { headers: ['x-ms-file-last-write-time'], on: ['Put Range', 'Clear Range', 'Put Range from URL'], since: '2021-06-08' },
]
