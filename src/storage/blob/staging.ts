// Blocks that were put and not committed yet. They have a record each, and one for the blob that they are
// for, which counts them and may be leased although nobody can read the blob. A week after the last one
// was put they are gone.
import type { Content } from '../../extent/slice.ts'
import { addReferences, removeReferences } from '../../extent/reference.ts'
import type { Entry, ReadTx, Step, Tx, Value } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { scanAll } from '../../kv/scan.ts'
import type { Lease } from '../lease.ts'
import type { BlobEncryption } from './encryption.ts'
import { dueKey, stagedBlockKey, stagedBlockRange, stagingKey } from './keys.ts'

export type Staging = {
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

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000
/** Blocks that one scan takes. */
const SCAN_COUNT = 1_000

export function* getStaging(
  tx: ReadTx,
  containerId: number,
  name: string,
  nowMs: number,
): Step<Staging | undefined> {
  const staging = yield* tx.getWith(stagingKey(containerId, name), decodeStaging)
  return staging === undefined || isOver(staging, nowMs) ? undefined : staging
}

export function isOver(staging: Staging, nowMs: number): boolean {
  return staging.touchedMs + WEEK_MS <= nowMs
}

export function decodeStaging(value: Value): Staging {
  return decodeRecord<Staging>(value)
}

export function saveStaging(tx: Tx, containerId: number, name: string, staging: Staging): void {
  tx.put(stagingKey(containerId, name), encodeRecord(staging))
}

/** When a sweep should look whether the blocks are still wanted. */
export function scheduleStaging(tx: Tx, containerId: number, name: string, staging: Staging): void {
  tx.put(dueKey(staging.touchedMs + WEEK_MS, 'staging', containerId, name), encodeRecord({}))
}

export function* getStagedBlock(
  tx: ReadTx,
  containerId: number,
  name: string,
  blockId: string,
): Step<StagedBlock | undefined> {
  const value = yield* tx.get(stagedBlockKey(containerId, name, blockId))
  return value === undefined ? undefined : decodeRecord<StagedBlock>(value)
}

export function* putStagedBlock(
  tx: Tx,
  containerId: number,
  name: string,
  blockId: string,
  block: StagedBlock,
): Step<void> {
  const key = stagedBlockKey(containerId, name, blockId)
  yield* addReferences(tx, key, block.content)
  tx.put(key, encodeRecord(block))
}

/** Every uncommitted block, in the order of the ids. There are at most 100,000. */
export function scanStagedBlocks(tx: ReadTx, containerId: number, name: string): Step<Entry[]> {
  return scanAll(tx, stagedBlockRange(containerId, name), SCAN_COUNT)
}

/** The blob was written: what was not committed is discarded. */
export function* discardStaging(tx: Tx, containerId: number, name: string): Step<void> {
  const entries = yield* scanStagedBlocks(tx, containerId, name)
  yield* discardStaged(tx, containerId, name, entries)
}

/** The same, by who has all the blocks at hand. */
export function* discardStaged(
  tx: Tx,
  containerId: number,
  name: string,
  entries: readonly Entry[],
): Step<void> {
  for (const { key, value } of entries) {
    yield* removeReferences(tx, decodeRecord<StagedBlock>(value).content)
    tx.delete(key)
  }
  tx.delete(stagingKey(containerId, name))
}
