// A blob as its record has it. How a request finds it is blob.ts.
import type { ContentHeaders } from '../shared/content-headers.ts'
import type { CopyState } from '../shared/copy-state.ts'
import type { Lease } from '../shared/lease.ts'
import type { Metadata } from '../shared/metadata.ts'
import type { Deleted } from '../shared/retention.ts'
import type { Tags } from '../shared/tags.ts'
import type { StoredTier } from './access-tier.ts'
import type { ClearedRange } from './content/cleared.ts'
import type { BlobContent } from './content/content.ts'
import type { BlobEncryption } from './encryption.ts'

export type BlobType = 'BlockBlob' | 'PageBlob' | 'AppendBlob'

export type ImmutabilityPolicy = {
  readonly untilMs: number
  readonly mode: 'Unlocked' | 'Locked'
}

export type Blob = BlobContent & {
  readonly type: BlobType
  /** Gives the ETag; greater after every write. */
  readonly stamp: number
  readonly createdMs: number
  readonly modifiedMs: number
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
  readonly lease?: Lease
  /** Append blobs: how many blocks were appended. */
  readonly blockCount?: number
  readonly isSealed?: true
  /** Page blobs: up to 2^63-1, so in decimal. */
  readonly sequenceNumber?: string
  /** Page blobs: the write that last replaced all of it; a diff reaches back to it and no further. */
  readonly origin?: number
  /** Page blobs with snapshots: what was written and cleared again, for diffs (cleared.ts). */
  readonly cleared?: readonly ClearedRange[]
  /** Set by somebody; without it the tier is the account's default. */
  readonly tier?: StoredTier
  readonly copy?: CopyState
  readonly encryption?: BlobEncryption
  readonly immutability?: ImmutabilityPolicy
  readonly legalHold?: true
  readonly expiresMs?: number
  /** With last access time tracking on: when it was last read or written, to the day. */
  readonly accessedMs?: number
  /** The id of this version, if versioning was on when it was written. */
  readonly version?: number
  /** How many snapshots there are that are not deleted. */
  readonly snapshotCount?: number
}

/** A snapshot, a version, or a blob that was soft-deleted (`root`); see past.ts. */
export type PastBlob = Blob & {
  readonly kind: 'snapshot' | 'version' | 'root'
  readonly deleted?: Deleted
}

export type StoredBlob<T extends Blob = Blob> = { readonly blob: T; readonly bytes: Uint8Array }
