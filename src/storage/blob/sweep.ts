// Removes what deletes and the passing of time leave behind, in bounded transactions: blobs of deleted
// containers, maps that no blob uses, soft-deleted blobs whose retention has ended, expired blobs, and expired
// uncommitted blocks. Clients already see none of it.
import { decodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type KeyRange, type Kv, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { decodeBlob, isBlobExpired } from './blob.ts'
import type { DeletedContainer, ContainerName } from './container/container.ts'
import { dropContent } from './content/content.ts'
import { sweepMap } from '../../extent/content/map.ts'
import { sweepBlobLeases } from './held/lease.ts'
import { dropExpired } from './past/delete.ts'
import {
  blobKey,
  blobKeyPrefix,
  containerNameKey,
  DELETED_CONTAINERS,
  deletedContainerKey,
  DISCARDED_STAGINGS,
  dueRange,
  orphanSnapshotsKeyPrefix,
  pastBlobKey,
  pastBlobKeyPrefix,
  pastContainerKey,
  stagingKey,
  stagingKeyPrefix,
  type DueKind,
} from './keys.ts'
import { deletePathEntry } from './path/link.ts'
import { markContainerDeleted } from './path/space.ts'
import { dropOverduePath, sweepTrees } from './path/sweep-tree.ts'
import { DELETED_MAPS } from '../../extent/content/map.ts'
import { dropOverdue, forgetExpiry } from './past/past.ts'
import {
  decodeStaging,
  discardStaging,
  isStagingExpired,
  scheduleStaging,
  sweepStaging,
} from './content/staging.ts'
import { changeTagIndex } from './list/tag-index.ts'
import { NO_TAGS } from '../shared/tags.ts'

/** Small enough that concurrent writes wait only a few milliseconds. */
const RECORDS_PER_STEP = 200

type SweptBlobs = { readonly recordCount: number }

/** One pass. `nowMs` is by the store's clock. */
export async function sweepBlobs(kv: Kv, nowMs: number): Promise<SweptBlobs> {
  let recordCount = await sweepDue(kv, nowMs)
  recordCount += await sweepTrees(kv)
  recordCount += await sweepMarked(kv, DELETED_CONTAINERS, removeSomeOfContainer)
  recordCount += await sweepMarked(kv, DISCARDED_STAGINGS, (tx, id) =>
    sweepStaging(tx, id, RECORDS_PER_STEP),
  )
  recordCount += await sweepMarked(kv, DELETED_MAPS, (tx, id) => sweepMap(tx, id, RECORDS_PER_STEP))
  recordCount += await sweepBlobLeases(kv, nowMs)
  return { recordCount }
}

/** Runs steps for each id in `marks`, until a step finds nothing more and deletes the mark. */
async function sweepMarked(
  kv: Kv,
  marks: KeyRange,
  step: (tx: Tx, id: number) => Step<number>,
): Promise<number> {
  let count = 0
  for (;;) {
    const [first] = await kv.read((tx) => tx.scan({ ...marks, countMax: 1 }))
    if (first === undefined) return count
    const id = Number(decodeKey(first.key)[1])
    let removed: number
    do {
      removed = await kv.write((tx) => step(tx, id))
      count += removed
    } while (removed > 0)
  }
}

/** The last step, which finds nothing more, deletes the mark and the name. */
function* removeSomeOfContainer(tx: Tx, containerId: number): Step<number> {
  const removed =
    (yield* removeSomeBlobs(tx, containerId)) ||
    (yield* removeSomePast(tx, containerId)) ||
    (yield* removeSomeStaging(tx, containerId)) ||
    (yield* removeSomeOrphanCounts(tx, containerId))
  if (removed > 0) return removed
  tx.delete(deletedContainerKey(containerId))
  tx.delete(containerNameKey(containerId))
  return 0
}

function* removeSomeBlobs(tx: Tx, containerId: number): Step<number> {
  const range = prefixRange(blobKeyPrefix(containerId, ''))
  const entries = yield* tx.scan({ ...range, countMax: RECORDS_PER_STEP })
  if (entries.length === 0) return 0
  const account = (yield* accountOf(tx, containerId)) ?? ''
  for (const { key, value } of entries) {
    const blob = decodeBlob(value)
    const place = { account, containerId, blob: String(decodeKey(key)[2]) }
    changeTagIndex(tx, place, blob.tags ?? NO_TAGS, NO_TAGS)
    forgetExpiry(tx, place, blob)
    yield* dropContent(tx, blob)
    tx.delete(key)
  }
  return entries.length
}

function* removeSomePast(tx: Tx, containerId: number): Step<number> {
  const range = prefixRange(pastBlobKeyPrefix(containerId, ''))
  const entries = yield* tx.scan({ ...range, countMax: RECORDS_PER_STEP })
  for (const { key, value } of entries) {
    yield* dropContent(tx, decodeBlob(value))
    tx.delete(key)
  }
  return entries.length
}

function* removeSomeStaging(tx: Tx, containerId: number): Step<number> {
  const range = prefixRange(stagingKeyPrefix(containerId, ''))
  const [entry] = yield* tx.scan({ ...range, countMax: 1 })
  if (entry === undefined) return 0
  yield* discardStaging(tx, containerId, String(decodeKey(entry.key)[2]))
  return 1
}

function* removeSomeOrphanCounts(tx: Tx, containerId: number): Step<number> {
  const range = prefixRange(orphanSnapshotsKeyPrefix(containerId))
  const entries = yield* tx.scan({ ...range, countMax: RECORDS_PER_STEP })
  for (const { key } of entries) tx.delete(key)
  return entries.length
}

async function sweepDue(kv: Kv, nowMs: number): Promise<number> {
  let count = 0
  for (;;) {
    const range = { ...dueRange(nowMs), countMax: RECORDS_PER_STEP }
    const keys = await kv.read((tx) => tx.scanKeys(range))
    if (keys.length === 0) return count
    await kv.write(function* (tx) {
      for (const key of keys) yield* settleDue(tx, key, nowMs)
    })
    count += keys.length
  }
}

type Due = {
  readonly kind: DueKind
  readonly containerId: number
  readonly name: string
  readonly stamp: number
}

/** Each kind checks the record again: it may have been undeleted, renewed or written since. */
function* settleDue(tx: Tx, key: Key, nowMs: number): Step<void> {
  tx.delete(key)
  const due = decodeDue(key)
  const { kind, containerId, name, stamp } = due
  if (kind === 'past') yield* dropOverdue(tx, pastBlobKey(containerId, name, stamp), nowMs)
  if (kind === 'expiry') yield* dropExpiredBlob(tx, due, nowMs)
  if (kind === 'staging') yield* dropStaging(tx, due, nowMs)
  if (kind === 'container') yield* dropContainer(tx, due, nowMs)
  if (kind === 'path') yield* dropOverduePath(tx, { containerId, order: name, stamp }, nowMs)
}

function decodeDue(key: Key): Due {
  const [, , kind, containerId, name, stamp] = decodeKey(key)
  return {
    kind: String(kind) as DueKind,
    containerId: Number(containerId),
    name: String(name),
    stamp: Number(stamp),
  }
}

function* dropExpiredBlob(tx: Tx, { containerId, name }: Due, nowMs: number): Step<void> {
  const key = blobKey(containerId, name)
  const value = yield* tx.get(key)
  if (value === undefined) return
  const blob = decodeBlob(value)
  if (!isBlobExpired(blob, nowMs)) return
  const account = (yield* accountOf(tx, containerId)) ?? ''
  yield* dropExpired(tx, { account, containerId, blob: name }, blob)
  tx.delete(key)
  if (blob.path !== undefined) deletePathEntry(tx, containerId, blob.path)
}

function* dropStaging(tx: Tx, { containerId, name }: Due, nowMs: number): Step<void> {
  const value = yield* tx.get(stagingKey(containerId, name))
  if (value === undefined) return
  const staging = decodeStaging(value)
  // If another block was put meanwhile, the week starts with that.
  if (isStagingExpired(staging, nowMs)) yield* discardStaging(tx, containerId, name)
  else scheduleStaging(tx, containerId, name, staging)
}

function* dropContainer(tx: Tx, { containerId, name }: Due, nowMs: number): Step<void> {
  const account = yield* accountOf(tx, containerId)
  if (account === undefined) return
  const key = pastContainerKey(account, name, containerId)
  const value = yield* tx.get(key)
  if (value === undefined) return
  const container = decodeRecord<DeletedContainer>(value)
  if (container.deleted.untilMs > nowMs) return
  tx.delete(key)
  markContainerDeleted(tx, container)
}

function* accountOf(tx: Tx, containerId: number): Step<string | undefined> {
  const value = yield* tx.get(containerNameKey(containerId))
  return value === undefined ? undefined : decodeRecord<ContainerName>(value).account
}
