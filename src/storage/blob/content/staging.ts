// Blocks that were put and not committed yet. They have a record each, and one for the blob that they are
// for, which counts them and may be leased although nobody can read the blob. A week after the last one
// was put they are gone.
import type { Content } from '../../../extent/content/slice.ts'
import { addReferences, removeReferences } from '../../../extent/content/reference.ts'
import type { Entry, Key, KeyRange, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { getFields } from '../../../kv/fields.ts'
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
  /** The keys of its blocks begin with it. Stores of older versions have stagings without one. */
  readonly id?: number
  /** The id of the content that was put last: it changes with every block. */
  readonly latest?: number
  readonly blockCount: number
  /** All ids of uncommitted blocks of a blob have the same length. */
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

/** Whose blocks: those of the staging with this id or, without one, of this name. */
export type StagingPlace = {
  readonly containerId: number
  readonly name: string
  readonly id: number | undefined
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
/** Blocks that one scan takes. */
const SCAN_COUNT = 1_000
/** More blocks than this are left to the sweep when they are discarded. */
const DISCARD_COUNT_MAX = 500

export function* getStaging(
  tx: ReadTx,
  containerId: number,
  name: string,
  nowMs: number,
): Step<Staging | undefined> {
  const staging = yield* getFields<Staging>(tx, stagingKey(containerId, name))
  return staging === undefined || isOver(staging, nowMs) ? undefined : staging
}

export function isOver(staging: Staging, nowMs: number): boolean {
  return staging.touchedMs + WEEK_MS <= nowMs
}

export function decodeStaging(value: StoredRecord): Staging {
  return decodeRecord<Staging>(value)
}

export function saveStaging(tx: Tx, containerId: number, name: string, staging: Staging): void {
  tx.put(stagingKey(containerId, name), encodeRecord(staging))
}

/** When a sweep should look whether the blocks are still wanted. */
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
  const value = yield* tx.get(keyOf(place, blockId))
  return value === undefined ? undefined : decodeRecord<StagedBlock>(value)
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

/** Every uncommitted block, in the order of the ids. There are at most 100,000. */
export function scanStagedBlocks(tx: ReadTx, place: StagingPlace): Step<Entry[]> {
  return scanAll(tx, rangeOf(place), SCAN_COUNT)
}

/** The blob was written, or nobody came back for them: the uncommitted blocks go, many of them later. */
export function* discardStaging(tx: Tx, containerId: number, name: string): Step<void> {
  const staging = yield* getFields<Staging>(tx, stagingKey(containerId, name))
  const id = staging?.id
  tx.delete(stagingKey(containerId, name))
  if (staging !== undefined && id !== undefined && staging.blockCount > DISCARD_COUNT_MAX) {
    tx.put(discardedStagingKey(id), encodeRecord({}))
    return
  }
  const blocks = yield* scanStagedBlocks(tx, { containerId, name, id })
  for (const block of blocks) yield* discardBlock(tx, block)
}

/** Every block of a staging that has only a few, to be named and discarded without another look. */
export function* fewStagedBlocks(
  tx: ReadTx,
  containerId: number,
  name: string,
  staging: Staging | undefined,
): Step<readonly Entry[] | undefined> {
  if (staging === undefined || staging.blockCount > DISCARD_COUNT_MAX) return undefined
  return yield* scanStagedBlocks(tx, { containerId, name, id: staging.id })
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

/** One step of the sweep of a discarded staging: how many blocks it removed; 0 when all are gone. */
export function* sweepStaging(tx: Tx, id: number, countMax: number): Step<number> {
  const entries = yield* tx.scan({ ...blockRange(id), countMax })
  for (const entry of entries) yield* discardBlock(tx, entry)
  if (entries.length === 0) tx.delete(discardedStagingKey(id))
  return entries.length
}

function* discardBlock(tx: Tx, { key, value }: Entry): Step<void> {
  yield* removeReferences(tx, decodeRecord<StagedBlock>(value).content)
  tx.delete(key)
}
