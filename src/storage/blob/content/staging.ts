// Uncommitted blocks. Each has a record, and another record (the staging) counts those of one blob and holds
// the lease of a blob that is not committed yet. Uncommitted blocks expire a week after the last one was put.
import type { Content } from '../../../extent/content/slice.ts'
import { addReferences, removeReferences } from '../../../extent/content/reference.ts'
import type { Entry, Key, KeyRange, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { Lease } from '../../shared/lease.ts'
import type { BlobEncryption } from '../encryption.ts'
import {
  blockKey,
  blockRange,
  discardedStagingKey,
  dueKey,
  stagedBlockKey,
  stagedBlockRange,
  stagingKey,
} from '../keys.ts'

export type Staging = {
  /** The prefix of its blocks' keys. Older versions stored stagings without an id. */
  readonly id?: number
  /** The id of the last block's content. It changes with every Put Block. */
  readonly latest?: number
  readonly blockCount: number
  /** All uncommitted blocks of a blob have ids of this length. */
  readonly blockIdBytes: number
  readonly createdMs: number
  readonly touchedMs: number
  readonly lease?: Lease
}

export type StagedBlock = {
  readonly lengthBytes: number
  readonly content: Content
  readonly encryption?: BlobEncryption
}

/** Identifies the blocks of a staging: by its id or, without one, by the blob's name. */
export type StagingPlace = {
  readonly containerId: number
  readonly name: string
  readonly id: number | undefined
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
/** Blocks per scan. */
const SCAN_COUNT = 1_000
/** If there are more blocks to discard, the sweep removes them. */
const DISCARD_COUNT_MAX = 500

export function* getStaging(
  tx: ReadTx,
  containerId: number,
  name: string,
  nowMs: number,
): Step<Staging | undefined> {
  const staging = yield* tx.getFields<Staging>(stagingKey(containerId, name))
  return staging === undefined || isStagingExpired(staging, nowMs) ? undefined : staging
}

export function isStagingExpired(staging: Staging, nowMs: number): boolean {
  return stagingExpiresMs(staging) <= nowMs
}

export function stagingExpiresMs({ touchedMs }: Staging): number {
  return touchedMs + WEEK_MS
}

export function decodeStaging(value: StoredRecord): Staging {
  return decodeRecord<Staging>(value)
}

export function saveStaging(tx: Tx, containerId: number, name: string, staging: Staging): void {
  tx.put(stagingKey(containerId, name), encodeRecord(staging))
}

/** Schedules the sweep's check whether the blocks have expired. */
export function scheduleStaging(tx: Tx, containerId: number, name: string, staging: Staging): void {
  tx.put(dueKey(staging.touchedMs + WEEK_MS, 'staging', containerId, name), encodeRecord({}))
}

function keyOf({ containerId, name, id }: StagingPlace, blockId: string): Key {
  return id === undefined ? stagedBlockKey(containerId, name, blockId) : blockKey(id, blockId)
}

function rangeOf({ containerId, name, id }: StagingPlace): KeyRange {
  return id === undefined ? stagedBlockRange(containerId, name) : blockRange(id)
}

export function* getStagedBlock(
  tx: ReadTx,
  place: StagingPlace,
  blockId: string,
): Step<StagedBlock | undefined> {
  const value = yield* getStagedRecord(tx, place, blockId)
  return value === undefined ? undefined : decodeRecord<StagedBlock>(value)
}

export function getStagedRecord(
  tx: ReadTx,
  place: StagingPlace,
  blockId: string,
): Step<StoredRecord | undefined> {
  return tx.get(keyOf(place, blockId))
}

export function* putStagedBlock(
  tx: Tx,
  place: StagingPlace,
  blockId: string,
  block: StagedBlock,
): Step<void> {
  const key = keyOf(place, blockId)
  yield* addReferences(tx, key, block.content)
  tx.put(key, encodeRecord(block))
}

/** All uncommitted blocks, ordered by id. There are at most 100,000. */
export function scanStagedBlocks(
  tx: ReadTx,
  place: StagingPlace,
  blockCount: number = SCAN_COUNT,
): Step<Entry[]> {
  return scanAll(tx, rangeOf(place), SCAN_COUNT, blockCount)
}

/** Discards the uncommitted blocks, after a write or when they expire. If there are many, the sweep removes them. */
export function* discardStaging(tx: Tx, containerId: number, name: string): Step<void> {
  const staging = yield* tx.getFields<Staging>(stagingKey(containerId, name))
  const id = staging?.id
  tx.delete(stagingKey(containerId, name))
  if (staging !== undefined && id !== undefined && staging.blockCount > DISCARD_COUNT_MAX) {
    tx.put(discardedStagingKey(id), encodeRecord({}))
    return
  }
  const blocks = yield* scanStagedBlocks(tx, { containerId, name, id })
  for (const block of blocks) yield* discardBlock(tx, block)
}

/** All blocks of a staging that has few, read once for both the commit and the discard. */
export function* fewStagedBlocks(
  tx: ReadTx,
  containerId: number,
  name: string,
  staging: Staging | undefined,
): Step<readonly Entry[] | undefined> {
  if (staging === undefined || staging.blockCount > DISCARD_COUNT_MAX) return undefined
  const place = { containerId, name, id: staging.id }
  return yield* scanStagedBlocks(tx, place, staging.blockCount)
}

export function* discardFewBlocks(
  tx: Tx,
  containerId: number,
  name: string,
  blocks: readonly Entry[],
): Step<void> {
  tx.delete(stagingKey(containerId, name))
  for (const block of blocks) yield* discardBlock(tx, block)
}

/** One step in sweeping a discarded staging. Returns the number of removed blocks; 0 when done. */
export function* sweepStaging(tx: Tx, id: number, countMax: number): Step<number> {
  const entries = yield* tx.scan({ ...blockRange(id), countMax })
  for (const entry of entries) yield* discardBlock(tx, entry)
  if (entries.length === 0) tx.delete(discardedStagingKey(id))
  return entries.length
}

export function* discardBlock(tx: Tx, { key, value }: Entry): Step<void> {
  yield* removeReferences(tx, decodeRecord<StagedBlock>(value).content)
  tx.delete(key)
}
