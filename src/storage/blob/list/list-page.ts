// List Blobs: the request, a page of the answer, and the range of keys that a page covers.
import { earlierKey, encodeString, laterKey } from '../../../kv/key.ts'
import { keyAfter, keyAfterPrefix, type Fold, type Key, type KeyRange } from '../../../kv/kv.ts'
import type { Blob, PastBlob } from '../record.ts'
import {
  blobKey,
  blobKeyPrefix,
  DELETED_ROOT,
  pastBlobKey,
  pastBlobKeyPrefix,
  stagingKey,
  stagingKeyPrefix,
} from '../keys.ts'
import type { Staging } from '../content/staging.ts'

/** Where a page starts. Names a place, not a count, so it stays valid while blobs are created and deleted. */
export type ListPosition =
  | { readonly fromName: string }
  | { readonly afterName: string }
  /** After all names with this prefix. */
  | { readonly afterPrefix: string }
  /** After one past state of a blob. Its later states and the blob itself follow. */
  | { readonly afterPast: string; readonly stamp: number }

/** What is listed besides current blobs. */
export type ListIncludes = {
  readonly snapshots: boolean
  readonly versions: boolean
  /** Soft-deleted ones of the kinds that are listed. */
  readonly deleted: boolean
  /** Names that have versions but no current blob. */
  readonly deletedWithVersions: boolean
  readonly uncommitted: boolean
}

export type ListBlobs = {
  readonly prefix: string
  readonly delimiter: string | undefined
  readonly start: ListPosition | undefined
  /** The list ends before this name. */
  readonly endBefore?: string | undefined
  readonly countMax: number
  readonly include?: ListIncludes
  /** `showonly=deleted`: soft-deleted paths of a hierarchical container, and nothing else. */
  readonly showsOnlyDeleted?: boolean
}

export type BlobItem =
  | { readonly name: string; readonly blob: Blob; readonly hasVersionsOnly?: true }
  /** A snapshot, a version or a soft-deleted blob; the stamp is its id. */
  | {
      readonly name: string
      readonly past: PastBlob
      readonly stamp: number
      /** Of a soft-deleted path of a hierarchical container, which is restored by it. */
      readonly deletionId?: number
    }
  | { readonly name: string; readonly staging: Staging }
  /** In a hierarchical container, the directory, if there is one. */
  | { readonly prefix: string; readonly directory?: Blob }

export type BlobPage = {
  readonly items: readonly BlobItem[]
  readonly next: ListPosition | undefined
}

/** The part of the name up to the first delimiter after the list's prefix. */
export function foldedPrefix(name: string, list: ListBlobs): string | undefined {
  if (list.delimiter === undefined) return undefined
  const at = name.indexOf(list.delimiter, list.prefix.length)
  return at < 0 ? undefined : name.slice(0, at + list.delimiter.length)
}

/** The same for scans of keys. */
export function listFold(
  names: NameKeys,
  containerId: number,
  { prefix, delimiter }: ListBlobs,
): { readonly fold?: Fold } {
  if (delimiter === undefined) return {}
  const at = names.prefix(containerId, prefix).length
  return { fold: { at, delimiter: encodeString(delimiter) } }
}

/** A kind of keys that sort by the blob's name. Those of one name are in [from, after). */
type NameKeys = {
  readonly prefix: (containerId: number, start: string) => Key
  readonly from: (containerId: number, name: string) => Key
  readonly after: (containerId: number, name: string) => Key
}

export const BLOBS: NameKeys = {
  prefix: blobKeyPrefix,
  from: blobKey,
  after: (containerId, name) => keyAfter(blobKey(containerId, name)),
}

export const STAGINGS: NameKeys = {
  prefix: stagingKeyPrefix,
  from: stagingKey,
  after: (containerId, name) => keyAfter(stagingKey(containerId, name)),
}

export const PASTS: NameKeys = {
  prefix: pastBlobKeyPrefix,
  from: (containerId, name) => pastBlobKey(containerId, name, 0),
  after: (containerId, name) => keyAfter(pastBlobKey(containerId, name, DELETED_ROOT)),
}

/** The range of keys that a list covers. */
export function listRange(names: NameKeys, containerId: number, list: ListBlobs): KeyRange {
  const lowest = names.prefix(containerId, list.prefix)
  const end = keyAfterPrefix(lowest)
  const { start, endBefore } = list
  const from = start === undefined ? lowest : laterKey(lowest, startKey(names, containerId, start))
  if (endBefore === undefined) return { from, to: end }
  return { from, to: earlierKey(names.from(containerId, endBefore), end) }
}

export function startKey(names: NameKeys, containerId: number, start: ListPosition): Key {
  if ('fromName' in start) return names.from(containerId, start.fromName)
  if ('afterName' in start) return names.after(containerId, start.afterName)
  if ('afterPrefix' in start) return keyAfterPrefix(names.prefix(containerId, start.afterPrefix))
  const { afterPast: name, stamp } = start
  // The blob itself comes after all its past states.
  if (names !== PASTS) return names.from(containerId, name)
  return keyAfter(pastBlobKey(containerId, name, stamp))
}
