// The index behind Find Blobs by Tags: a key for each tag of each blob. The transaction that changes tags also
// changes the index, so searches are always up to date. One comparison (or the two ends of a range) drives the
// scan of the keys; each blob in it is loaded, and its tags are compared with the filter.
import assert from 'node:assert/strict'
import { compareKeys, decodeKey, earlierKey, laterKey } from '../../../kv/key.ts'
import {
  keyAfter,
  keyAfterPrefix,
  prefixRange,
  type Key,
  type KeyRange,
  type ReadTx,
  type Step,
  type Tx,
} from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { invalidQuery } from '../../shared/error.ts'
import { blobTagKey, blobTagKeyPrefix } from '../keys.ts'
import {
  matchesTags,
  namedTags,
  type TagConjunction,
  type TagOperator,
} from '../../shared/tag-filter.ts'
import { isTagText, TAG_VALUE_LENGTH_MAX, type Tags } from '../../shared/tags.ts'

type Place = { readonly containerId: number; readonly blob: string }

const ENTRY = encodeRecord({})

/** A current blob. Snapshots and versions are not indexed. */
type TaggedPlace = Place & { readonly account: string }

/** Writes only the tags that differ. */
export function changeTagIndex(tx: Tx, place: TaggedPlace, before: Tags, after: Tags): void {
  for (const tag of before) {
    if (!hasTag(after, tag)) tx.delete(blobTagKey(place.account, tag, place))
  }
  for (const tag of after) {
    if (!hasTag(before, tag)) tx.put(blobTagKey(place.account, tag, place), ENTRY)
  }
}

function hasTag(tags: Tags, [name, value]: readonly [string, string]): boolean {
  return tags.some((tag) => tag[0] === name && tag[1] === value)
}

/** The last index entry that was read. */
export type FindPosition = Place & { readonly value: string }

export type FindBlobsByTags = {
  readonly account: string
  /** Searches only this container. */
  readonly containerId?: number
  /** Has at least one tag, and no @container. */
  readonly where: TagConjunction
  readonly start: FindPosition | undefined
  readonly countMax: number
  /** Ends the page after reading this many entries, however few match. */
  readonly scanCountMax?: number
}

export type FoundBlob = { readonly container: string; readonly name: string; readonly tags: Tags }

export type FoundPage = {
  readonly items: readonly FoundBlob[]
  readonly next: FindPosition | undefined
}

/** Loads the names and the blob's tags; undefined if there is no such blob. */
export type LoadTagged = (containerId: number, blob: string) => Step<LoadedBlob | undefined>

/** `name`: if it isn't the one in the index. */
export type LoadedBlob = Omit<FoundBlob, 'name'> & { readonly name?: string }

const SCAN_COUNT_MAX = 10_000
const BATCH_MAX = 1_000
/** Blobs between two pauses for other transactions. */
const GIVE_WAY_COUNT = 64
const BLOB_NAME_LENGTH_MAX = 1_024

/** Ordered by container id and name if the filter has an equality, else by the values of the driving tag. */
export function* findBlobsByTags(
  tx: ReadTx,
  find: FindBlobsByTags,
  load: LoadTagged,
): Step<FoundPage> {
  const { account, start, countMax, scanCountMax = SCAN_COUNT_MAX } = find
  const name = drivingTag(find.where)
  const { from: lowest, to } = drivingRange(name, find)
  const behind = (position: FindPosition): Key =>
    keyAfter(blobTagKey(account, [name, position.value], position))
  const items: FoundBlob[] = []
  let from = start === undefined ? lowest : laterKey(lowest, behind(start))
  let batch = Math.min(countMax, BATCH_MAX)
  let lookedAtCount = 0
  while (compareKeys(from, to) < 0) {
    // One more than will be used, to know whether there are more.
    const keys = yield* tx.scanKeys({ from, to, countMax: batch + 1 })
    const entries = keys.map(decodePosition)
    let last: FindPosition | undefined
    for (const entry of entries.slice(0, batch)) {
      const item = yield* findItem(find, entry, load)
      if (item !== undefined) items.push(item)
      last = entry
      lookedAtCount += 1
      if (lookedAtCount % GIVE_WAY_COUNT === 0) yield* giveWay()
      if (items.length >= countMax || lookedAtCount >= scanCountMax) break
    }
    if (last === undefined || last === entries.at(-1)) break
    if (items.length >= countMax || lookedAtCount >= scanCountMax) return { items, next: last }
    from = behind(last)
    batch = Math.min(batch * 4, BATCH_MAX)
  }
  return { items, next: undefined }
}

function* findItem(
  find: FindBlobsByTags,
  { containerId, blob }: FindPosition,
  load: LoadTagged,
): Step<FoundBlob | undefined> {
  if (find.containerId !== undefined && containerId !== find.containerId) return undefined
  const loaded = yield* load(containerId, blob)
  if (loaded === undefined || !matchesTags(find.where, loaded.tags)) return undefined
  return { name: blob, ...loaded, tags: namedTags(find.where, loaded.tags) }
}

/** The tag that probably has the fewest entries: one with an equality, else a range, else an open range. */
function drivingTag({ all }: TagConjunction): string {
  const equal = all.find(({ operator }) => operator === '=')
  const bounded = all.find((one) => all.some((other) => other !== one && other.name === one.name))
  const name = (equal ?? bounded ?? all[0])?.name
  assert(name !== undefined, 'a filter has a tag')
  return name
}

type Bounds = { readonly from?: 'value' | 'afterValue'; readonly to?: 'value' | 'afterValue' }

const BOUNDS: Readonly<Record<TagOperator, Bounds>> = {
  '=': { from: 'value', to: 'afterValue' },
  '<>': {},
  '>': { from: 'afterValue' },
  '>=': { from: 'value' },
  '<': { to: 'value' },
  '<=': { to: 'afterValue' },
}

function drivingRange(tagName: string, { account, containerId, where }: FindBlobsByTags): KeyRange {
  let { from, to } = prefixRange(blobTagKeyPrefix(account, tagName))
  for (const { name, operator, value } of where.all) {
    if (name !== tagName) continue
    const inContainer = operator === '=' && containerId !== undefined ? [containerId] : []
    const prefix = blobTagKeyPrefix(account, name, value, ...inContainer)
    const keys = { value: prefix, afterValue: keyAfterPrefix(prefix) }
    const bounds = BOUNDS[operator]
    if (bounds.from !== undefined) from = laterKey(from, keys[bounds.from])
    if (bounds.to !== undefined) to = earlierKey(to, keys[bounds.to])
  }
  return { from, to }
}

function decodePosition(key: Key): FindPosition {
  const [, , , value, containerId, blob] = decodeKey(key)
  assert(typeof value === 'string' && typeof containerId === 'number' && typeof blob === 'string')
  return { value, containerId, blob }
}

/** Names a place in the index, not a count, so it stays valid while blobs are created and deleted. */
export function encodeFindMarker({ value, containerId, blob }: FindPosition): string {
  return Buffer.from(JSON.stringify([value, containerId, blob])).toString('base64url')
}

export function decodeFindMarker(marker: string): FindPosition {
  const position = toPosition(parseJson(Buffer.from(marker, 'base64url').toString('utf8')))
  if (position === undefined) throw invalidQuery('marker', marker)
  return position
}

/** Markers come from clients and become keys, so their contents are checked. */
function toPosition(parts: unknown): FindPosition | undefined {
  if (!Array.isArray(parts) || parts.length !== 3) return undefined
  const [value, containerId, blob]: unknown[] = parts
  if (typeof value !== 'string' || typeof blob !== 'string') return undefined
  if (typeof containerId !== 'number' || !Number.isSafeInteger(containerId)) return undefined
  const isTagValue = isTagText(value) && value.length <= TAG_VALUE_LENGTH_MAX
  if (!isTagValue || containerId < 0 || blob.length > BLOB_NAME_LENGTH_MAX) return undefined
  return { value, containerId, blob }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
