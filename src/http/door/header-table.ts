// Response headers and list elements that only some versions of the services send. Handlers write the newest
// answer; the rows here drop what the request's version does not have. Anything without a row is sent at every
// version.

export type HeaderRow = {
  /** Headers; for list operations, elements of their items. */
  readonly headers: readonly string[]
  /** Names of operations; undefined for every operation. */
  readonly on?: readonly string[]
  /** The first version that sends them. */
  readonly since?: string
  /** The first version that no longer sends them. */
  readonly until?: string
}

const TIER = ['x-ms-access-tier', 'x-ms-access-tier-inferred', 'x-ms-access-tier-change-time']
const SMART = 'x-ms-smart-access-tier'
const LEASE = ['x-ms-lease-status', 'x-ms-lease-state', 'x-ms-lease-duration']

const PATH_READS = ['Get Blob', 'Get Blob Properties']

const SMB_PROPERTIES = [
  'x-ms-file-permission-key',
  'x-ms-file-attributes',
  'x-ms-file-creation-time',
  'x-ms-file-last-write-time',
  'x-ms-file-change-time',
  'x-ms-file-id',
  'x-ms-file-parent-id',
]
/** Operations that return the properties of a file or directory. */
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
const POLICY = [
  'x-ms-immutability-policy-until-date',
  'x-ms-immutability-policy-mode',
  'x-ms-legal-hold',
]

// The versions are from the reference pages; rows marked "recorded" are from recorded traffic.
// prettier-ignore
export const HEADER_ROWS: readonly HeaderRow[] = [
  // Blobs and containers
  { headers: ['x-ms-server-encrypted'], since: '2015-12-11' },
  { headers: ['x-ms-request-server-encrypted'], since: '2015-12-11' },
  { headers: ['x-ms-request-server-encrypted'], on: ['Snapshot Blob', 'Set Blob Metadata'], since: '2019-02-02' }, // recorded
  { headers: ['x-ms-blob-public-access'], on: ['Get Container Properties', 'Get Container Metadata'], since: '2016-05-31' },
  { headers: ['x-ms-incremental-copy', 'x-ms-copy-destination-snapshot'], since: '2016-05-31' },
  { headers: TIER, on: ['Get Blob Properties'], since: '2017-04-17' },
  { headers: [...TIER, SMART], on: ['Get Blob', 'Query Blob Contents'], since: '2026-10-06' }, // recorded
  { headers: [SMART], on: ['Get Blob Properties'], since: '2026-06-06' },
  { headers: ['x-ms-archive-status'], since: '2017-04-17' },
  { headers: ['x-ms-delete-type-permanent'], since: '2017-07-29' },
  { headers: ['x-ms-owner', 'x-ms-group', 'x-ms-permissions'], on: PATH_READS, since: '2020-06-12' }, // recorded
  { headers: ['x-ms-resource-type'], on: PATH_READS, since: '2020-12-06' }, // recorded
  { headers: ['x-ms-acl'], on: PATH_READS, since: '2023-11-03' }, // recorded
  { headers: ['x-ms-creation-time'], since: '2017-11-09' },
  { headers: ['x-ms-has-immutability-policy', 'x-ms-has-legal-hold'], since: '2017-11-09' },
  { headers: ['x-ms-content-crc64'], on: ['Put Blob'], since: '2019-02-02' }, // recorded
  { headers: ['x-ms-encryption-key-sha256'], since: '2019-02-02' },
  { headers: ['x-ms-encryption-scope'], since: '2019-07-07' }, // recorded
  { headers: ['x-ms-default-encryption-scope', 'x-ms-deny-encryption-scope-override'], since: '2019-07-07' },
  { headers: ['x-ms-is-hns-enabled'], since: '2019-07-07' },
  { headers: ['x-ms-rehydrate-priority', 'x-ms-version-id', 'x-ms-is-current-version'], since: '2019-12-12' }, // recorded
  { headers: ['x-ms-tag-count', 'x-ms-blob-sealed'], since: '2019-12-12' },
  { headers: ['x-ms-last-access-time', 'x-ms-expiry-time'], since: '2020-02-10' },
  { headers: [...POLICY, 'x-ms-immutable-storage-with-versioning-enabled'], since: '2020-06-12' },

  // Lists of blobs and containers
  { headers: ['ServerEncrypted'], on: ['List Blobs'], since: '2015-12-11' },
  { headers: ['IncrementalCopy', 'CopyDestinationSnapshot'], on: ['List Blobs'], since: '2016-05-31' },
  { headers: ['AccessTier', 'AccessTierInferred', 'AccessTierChangeTime', 'ArchiveStatus'], on: ['List Blobs'], since: '2017-04-17' },
  { headers: ['Creation-Time'], on: ['List Blobs'], since: '2017-11-09' },
  { headers: ['Content-CRC64', 'CustomerProvidedKeySha256'], on: ['List Blobs'], since: '2019-02-02' }, // recorded
  { headers: ['EncryptionScope'], on: ['List Blobs'], since: '2019-07-07' }, // recorded
  { headers: ['VersionId', 'IsCurrentVersion', 'TagCount', 'Sealed', 'RehydratePriority', 'OrMetadata'], on: ['List Blobs'], since: '2019-12-12' }, // recorded
  { headers: ['LastAccessTime', 'Expiry-Time'], on: ['List Blobs'], since: '2020-02-10' },
  { headers: ['PublicAccess'], on: ['List Containers'], since: '2016-05-31' },
  { headers: ['HasImmutabilityPolicy', 'HasLegalHold'], on: ['List Containers'], since: '2017-11-09' },
  { headers: ['DefaultEncryptionScope', 'DenyEncryptionScopeOverride'], on: ['List Containers'], since: '2019-07-07' }, // recorded
  { headers: ['ImmutableStorageWithVersioningEnabled'], on: ['List Containers'], since: '2020-06-12' },

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
