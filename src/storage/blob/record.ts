// The record of a blob. How requests find it is in blob.ts.
import type { ContentHeaders } from '../shared/content-headers.ts'
import type { CopyState } from '../shared/copy/copy-state.ts'
import type { Lease } from '../shared/lease.ts'
import type { Metadata } from '../shared/metadata.ts'
import type { Deleted } from '../shared/retention.ts'
import type { Tags } from '../shared/tags.ts'
import type { StoredTier } from './access-tier.ts'
import type { ClearedRange } from './content/cleared.ts'
import type { BlobContent } from './content/content.ts'
import type { BlobEncryption } from './encryption.ts'
import type { PathState } from './path/path-state.ts'

export type BlobType = 'BlockBlob' | 'PageBlob' | 'AppendBlob'

export type ImmutabilityPolicy = {
  readonly untilMs: number
  readonly mode: 'Unlocked' | 'Locked'
}

export type Blob = BlobContent & {
  readonly type: BlobType
  /** The ETag is made from it. Every write increases it. */
  readonly stamp: number
  readonly createdMs: number
  readonly modifiedMs: number
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
  readonly lease?: Lease
  /** Append blobs: the number of appended blocks. */
  readonly blockCount?: number
  readonly isSealed?: true
  /** Page blobs: up to 2^63-1, in decimal. */
  readonly sequenceNumber?: string
  /** Page blobs: the last write that replaced the whole blob. A diff can't reach further back. */
  readonly origin?: number
  /** Page blobs with snapshots: pages that were written and cleared, for diffs (cleared.ts). */
  readonly cleared?: readonly ClearedRange[]
  /** Without it, the blob has the account's default tier. */
  readonly tier?: StoredTier
  readonly copy?: CopyState
  readonly encryption?: BlobEncryption
  readonly immutability?: ImmutabilityPolicy
  readonly legalHold?: true
  readonly expiresMs?: number
  /** With last access time tracking: the last read or write, to the day. */
  readonly accessedMs?: number
  /** The id of this version, if versioning was on when the blob was written. */
  readonly version?: number
  /** The number of snapshots that are not deleted. */
  readonly snapshotCount?: number
  /** Its bytes were written with Append Data and Flush Data, so it has no blocks that clients can name. */
  readonly isLakeFile?: true
  readonly encryptionContext?: string
  /** In a hierarchical container. */
  readonly path?: PathState
}

/** A snapshot, a version, or a soft-deleted blob (`root`). See past.ts. */
export type PastBlob = Blob & {
  readonly kind: 'snapshot' | 'version' | 'root'
  readonly deleted?: Deleted
}

export type StoredBlob<T extends Blob = Blob> = { readonly blob: T; readonly bytes: Uint8Array }
