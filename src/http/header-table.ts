// Response headers, and elements of lists, that only some versions of the services send. Handlers write the
// newest answer; rows here drop what the request's version does not have. What has no row is sent at every
// version.

export type HeaderRow = {
  /** Headers; of operations that list, elements of their items. */
  readonly headers: readonly string[]
  /** Operations as their tables name them; undefined for every operation. */
  readonly on?: readonly string[]
  /** The first version that sends them. */
  readonly since?: string
  /** The first version that sends them no more. */
  readonly until?: string
}

const TIER = ['x-ms-access-tier', 'x-ms-access-tier-inferred', 'x-ms-access-tier-change-time']
const POLICY = [
  'x-ms-immutability-policy-until-date',
  'x-ms-immutability-policy-mode',
  'x-ms-legal-hold',
]

// The versions are those of the reference pages; "recorded" rows were seen in recorded traffic.
// prettier-ignore
export const HEADER_ROWS: readonly HeaderRow[] = [
  // Blobs and containers
  { headers: ['x-ms-server-encrypted'], since: '2015-12-11' },
  { headers: ['x-ms-request-server-encrypted'], since: '2015-12-11' },
  { headers: ['x-ms-request-server-encrypted'], on: ['Snapshot Blob', 'Set Blob Metadata'], since: '2019-02-02' }, // recorded
  { headers: ['x-ms-blob-public-access'], on: ['Get Container Properties', 'Get Container Metadata'], since: '2016-05-31' },
  { headers: ['x-ms-incremental-copy', 'x-ms-copy-destination-snapshot'], since: '2016-05-31' },
  { headers: TIER, on: ['Get Blob Properties'], since: '2017-04-17' },
  { headers: TIER, on: ['Get Blob', 'Query Blob Contents'], since: '2026-10-06' }, // recorded
  { headers: ['x-ms-archive-status'], since: '2017-04-17' },
  { headers: ['x-ms-delete-type-permanent'], since: '2017-07-29' },
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
]
