// What List Blobs asks for, what a page of it holds, and where in the keys a page begins and ends.
import { earlierKey, laterKey } from '../../../kv/key.ts'
import { keyAfter, keyAfterPrefix, type Key, type KeyRange } from '../../../kv/kv.ts'
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

/** Where a page begins. It names a place and not a count, so it holds while blobs come and go. */
export type ListPosition =
  | { readonly fromName: string }
  | { readonly afterName: string }
  /** Behind every name that starts so. */
  | { readonly afterPrefix: string }
  /** Behind one past state of a blob; its later ones and the blob itself are still to come. */
  | { readonly afterPast: string; readonly stamp: number }

/** What is listed besides the blobs that everyone sees. */
export type ListIncludes = {
  readonly snapshots: boolean
  readonly versions: boolean
  /** What is soft-deleted, of the kinds that are listed. */
  readonly deleted: boolean
  /** Names that have versions and no current blob. */
  readonly deletedWithVersions: boolean
  readonly uncommitted: boolean
}

export type ListBlobs = {
  readonly prefix: string
  readonly delimiter: string | undefined
  readonly start: ListPosition | undefined
  /** The first name that is not listed any more. */
  readonly endBefore?: string | undefined
  readonly countMax: number
  readonly include?: ListIncludes
}

export type BlobItem =
  | { readonly name: string; readonly blob: Blob; readonly hasVersionsOnly?: true }
  /** A snapshot, a version or a soft-deleted blob; the stamp is its id. */
  | { readonly name: string; readonly past: PastBlob; readonly stamp: number }
  | { readonly name: string; readonly staging: Staging }
  | { readonly prefix: string }

export type BlobPage = {
  readonly items: readonly BlobItem[]
  readonly next: ListPosition | undefined
}

/** The part of the name up to the first delimiter behind the list's prefix. */
export function foldedPrefix(name: string, list: ListBlobs): string | undefined {
  if (list.delimiter === undefined) return undefined
  const at = name.indexOf(list.delimiter, list.prefix.length)
  return at < 0 ? undefined : name.slice(0, at + list.delimiter.length)
}

/** Keys that sort by a blob's name: those of one name are from `from` to before `after`. */
export type Names = {
  readonly prefix: (containerId: number, start: string) => Key
  readonly from: (containerId: number, name: string) => Key
  readonly after: (containerId: number, name: string) => Key
}

export const BLOBS: Names = {
  prefix: blobKeyPrefix,
  from: blobKey,
  after: (containerId, name) => keyAfter(blobKey(containerId, name)),
}

export const STAGINGS: Names = {
  prefix: stagingKeyPrefix,
  from: stagingKey,
  after: (containerId, name) => keyAfter(stagingKey(containerId, name)),
}

export const PASTS: Names = {
  prefix: pastBlobKeyPrefix,
  from: (containerId, name) => pastBlobKey(containerId, name, 0),
  after: (containerId, name) => keyAfter(pastBlobKey(containerId, name, DELETED_ROOT)),
}

/** What a list looks at in these keys. */
export function listRange(names: Names, containerId: number, list: ListBlobs): KeyRange {
  const lowest = names.prefix(containerId, list.prefix)
  const end = keyAfterPrefix(lowest)
  const { start, endBefore } = list
  const from = start === undefined ? lowest : laterKey(lowest, startKey(names, containerId, start))
  if (endBefore === undefined) return { from, to: end }
  return { from, to: earlierKey(names.from(containerId, endBefore), end) }
}

export function startKey(names: Names, containerId: number, start: ListPosition): Key {
  if ('fromName' in start) return names.from(containerId, start.fromName)
  if ('afterName' in start) return names.after(containerId, start.afterName)
  if ('afterPrefix' in start) return keyAfterPrefix(names.prefix(containerId, start.afterPrefix))
  const { afterPast: name, stamp } = start
  // The other keys hold what comes behind all past states of the name.
  if (names !== PASTS) return names.from(containerId, name)
  return keyAfter(pastBlobKey(containerId, name, stamp))
}
