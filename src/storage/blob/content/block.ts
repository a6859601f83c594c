// Block blobs: clients put blocks one by one, in any order, and a block list then makes them the blob in one
// step. Put Block makes the bytes durable; Put Block List only moves references, so that a commit of any length
// is atomic.
import { removeReferences } from '../../../extent/content/reference.ts'
import type { Content } from '../../../extent/content/slice.ts'
import { decodeKey } from '../../../kv/key.ts'
import type { Entry, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { decodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { checkReadConditions, type Validators } from '../../shared/condition.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForRead } from '../../shared/lease.ts'
import type { Moment } from '../../../node/moment.ts'
import { findBlob, findBlobAt, type BlobAddress, type Target } from '../blob.ts'
import type { Blob } from '../record.ts'
import { checkBlobWrite, requireType, type BlobGuard } from '../guard.ts'
import { blockIdBytes } from './block-id.ts'
import { checkNotBelowFile } from '../path/locate.ts'
import { checkDepth } from '../path/path-name.ts'
import { committedBlocks, putBlocks, RECORD_BLOCKS_MAX, type BlockPieces } from './content.ts'
import { type Block } from '../../../extent/content/map.ts'
import { checkEncryption, requireEncryptionForWrite } from '../encryption.ts'
import { isKeptAsVersion } from '../protection.ts'
import { checkPutBlob, replaceBlob, type PutBlob, type PutTarget } from '../put.ts'
import {
  discardFewBlocks,
  discardStaging,
  fewStagedBlocks,
  getStagedBlock,
  getStagedRecord,
  getStaging,
  putStagedBlock,
  saveStaging,
  scanStagedBlocks,
  scheduleStaging,
  type StagedBlock,
  type Staging,
  type StagingPlace,
} from './staging.ts'
import { checkOnline } from '../tier.ts'

export const COMMITTED_BLOCKS_MAX = 50_000
export const UNCOMMITTED_BLOCKS_MAX = 100_000
/** Blocks between two pauses for other transactions. */
const GIVE_WAY_COUNT = 256

export type PutBlock = {
  /** In canonical base64. */
  readonly blockId: string
  readonly guard: BlobGuard
}

type BlockTarget = Pick<Target, 'container' | 'containerId' | 'name'> & {
  readonly staging: Staging | undefined
}

/** Throws what the Put Block would fail with. Runs before a long body is read, and again when it is stored. */
export function* checkPutBlock(
  tx: ReadTx,
  address: BlobAddress,
  { blockId, guard }: PutBlock,
  nowMs: number,
): Step<BlockTarget> {
  const target = yield* findBlob(tx, address, nowMs)
  const { container, containerId, name, stored, located } = target
  if (located !== undefined) checkBlockTarget(target)
  const staging = yield* getStaging(tx, containerId, name, nowMs)
  const current = stored?.blob
  const held = current === undefined ? staging?.lease : current.lease
  // The blob itself doesn't change, so an expired lease stays and can still be renewed.
  checkBlobWrite(current, guard, nowMs, 'update', held)
  if (current !== undefined) {
    requireBlocks(current)
    checkOnline(current, nowMs)
  }
  const found = { container, containerId, name, staging }
  if (staging === undefined) return found
  if (staging.blockIdBytes !== blockIdBytes(blockId)) throw new StorageError('InvalidBlobOrBlock')
  if (staging.blockCount >= UNCOMMITTED_BLOCKS_MAX) {
    const place = { containerId, name, id: staging.id }
    const replaced = yield* getStagedBlock(tx, place, blockId)
    if (replaced === undefined) throw tooManyUncommitted()
  }
  return found
}

/** Blocks of a path that could not be created would be of no use. */
function checkBlockTarget({ located, stored }: Target): void {
  if (located === undefined) return
  checkNotBelowFile(located)
  checkDepth(located.names)
  if (stored?.blob.path?.isDirectory === true) throw new StorageError('ResourceTypeMismatch')
}

/** Blocks can't be added to what Append Data has written (Data Lake Storage, known issues: "Blob storage APIs"). */
function requireBlocks(blob: Blob): void {
  requireType(blob, 'BlockBlob')
  if (blob.isLakeFile === true) throw new StorageError('BlobOperationNotSupported')
}

/** Has the code of the limit on committed blocks, and a message of its own (azure-sdk-for-net#22856, xtdb#5394). */
function tooManyUncommitted(): StorageError {
  const message = 'The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.'
  return new StorageError('BlockCountExceedsLimit', {}, message)
}

/**
 * Put Block changes neither the ETag nor anything that can be read. It replaces an uncommitted block of the
 * same id.
 */
export function* putBlock(
  tx: Tx,
  address: BlobAddress,
  put: PutBlock,
  block: StagedBlock,
  { nowMs }: Moment,
): Step<void> {
  const { containerId: id, name, staging } = yield* checkPutBlock(tx, address, put, nowMs)
  const { blockId } = put
  // Expired blocks that the sweep has not removed yet must not reappear together with the new one.
  if (staging === undefined) yield* discardStaging(tx, id, name)
  const latest = block.content.id
  // A new staging takes the id of its first block, which is unique.
  const before = staging ?? { id: latest, blockCount: 0, createdMs: nowMs, touchedMs: nowMs }
  const place = { containerId: id, name, id: before.id }
  const replaced = yield* getStagedBlock(tx, place, blockId)
  if (replaced !== undefined) yield* removeReferences(tx, replaced.content)
  yield* putStagedBlock(tx, place, blockId, block)
  const after: Staging = {
    ...before,
    latest,
    blockCount: before.blockCount + (replaced === undefined ? 1 : 0),
    blockIdBytes: blockIdBytes(blockId),
    touchedMs: Math.max(before.touchedMs, nowMs),
  }
  saveStaging(tx, id, name, after)
  if (staging === undefined) scheduleStaging(tx, id, name, after)
}

/** Where to look for a block. Latest is the uncommitted block, if there is one, else the committed one. */
export type BlockPlace = 'Committed' | 'Uncommitted' | 'Latest'

export type BlockListEntry = readonly [place: BlockPlace, blockId: string]

export type BlockList = { readonly entries: readonly BlockListEntry[]; readonly newId: number }

/** Put Block List makes the named blocks the blob, and discards the other uncommitted blocks. */
export function* putBlockList(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  { entries, newId }: BlockList,
  moment: Moment,
): Step<Blob> {
  const { target, encrypted } = yield* checkPutBlockList(tx, address, put, moment.nowMs)
  const { containerId, name, staging } = target
  const few = yield* fewStagedBlocks(tx, containerId, name, staging)
  const blocks = yield* namedBlocks(tx, target, put.guard, { entries, few })
  // Before the new references are written: a scan of the blocks would visit those each time.
  if (few !== undefined) yield* discardFewBlocks(tx, containerId, name, few)
  else if (staging !== undefined) yield* discardStaging(tx, containerId, name)
  const reused = reusedContent(target, blocks.length)
  const content = yield* putBlocks(tx, target.key, newId, blocks, reused)
  const before = reused === undefined ? target : withoutContent(target)
  const replacement = { type: 'BlockBlob', content } as const
  const empty = { ...before, staging: undefined }
  return yield* replaceBlob(tx, address, empty, encrypted, replacement, moment)
}

type BlockListTarget = {
  readonly target: PutTarget
  /** The put, with the encryption of the new blob. */
  readonly encrypted: Omit<PutBlob, 'guard' | 'createOnly'>
}

/** Throws what the Put Block List would fail with, whatever its list. */
export function* checkPutBlockList(
  tx: ReadTx,
  address: BlobAddress,
  put: PutBlob,
  nowMs: number,
): Step<BlockListTarget> {
  const target = yield* checkPutBlob(tx, address, put, nowMs)
  if (target.stored !== undefined) requireBlocks(target.stored.blob)
  const requested = put.guard.encryption ?? {}
  const { account } = address
  const encryption = yield* requireEncryptionForWrite(tx, account, requested, target.container)
  const { encryption: _none, ...rest } = put
  return { target, encrypted: encryption === undefined ? rest : { ...rest, encryption } }
}

/**
 * Most lists add a few blocks to the previous one. If that one is not kept as a version or snapshot, the new list
 * takes over its references and changes only those that differ.
 */
function reusedContent({ stored, protection }: PutTarget, blockCount: number): Content | undefined {
  if (stored === undefined || blockCount > RECORD_BLOCKS_MAX) return undefined
  if (protection.blobRetentionDays !== undefined || isKeptAsVersion(stored.blob, protection)) {
    return undefined
  }
  return stored.blob.content
}

/** The blob to be replaced, without the bytes that the new one takes over. */
function withoutContent(target: PutTarget): PutTarget {
  if (target.stored === undefined) return target
  const { content: _content, ...blob } = target.stored.blob
  return { ...target, stored: { ...target.stored, blob } }
}

/** All uncommitted blocks, if there are only a few. */
type Few = readonly Entry[] | undefined

/** The blocks of a list, in its order. Fails if one of them is not where the list says. */
export function* namedBlocks(
  tx: ReadTx,
  { container, containerId, name, stored, staging }: PutTarget,
  guard: BlobGuard,
  { entries, few }: { readonly entries: readonly BlockListEntry[]; readonly few?: Few },
): Step<BlockPieces[]> {
  const place = { containerId, name, id: staging?.id }
  const isCommittedNamed = entries.some(([place]) => place !== 'Uncommitted')
  const committed =
    stored === undefined || !isCommittedNamed ? [] : yield* committedBlocks(tx, stored.blob)
  yield* giveWay()
  const committedById = new Map(committed.map((block) => [block.id, block]))
  const requested = guard.encryption ?? {}
  const stagedBlock = yield* stagedBlocks(tx, place, entries, { staging, few })
  const blocks: BlockPieces[] = []
  for (const [where, id] of entries) {
    const staged = where === 'Committed' ? undefined : stagedBlock(id)
    if (staged !== undefined) {
      checkEncryption(staged.encryption, requested, 'append', container)
      blocks.push({ id, lengthBytes: staged.lengthBytes, pieces: staged.content.pieces })
    } else {
      const block = where === 'Uncommitted' ? undefined : committedById.get(id)
      if (block === undefined) throw new StorageError('InvalidBlockList')
      checkEncryption(stored?.blob.encryption, requested, 'append', container)
      blocks.push(block)
    }
    if (blocks.length % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
  return blocks
}

type Staged = { readonly staging: Staging | undefined; readonly few?: Few | undefined }

/** Finds the uncommitted blocks that a list may name: all of them with one scan, unless there are many more than that. */
function* stagedBlocks(
  tx: ReadTx,
  place: StagingPlace,
  entries: readonly BlockListEntry[],
  { staging, few }: Staged,
): Step<(id: string) => StagedBlock | undefined> {
  const found = new Map<string, StoredRecord>()
  if (few === undefined && staging !== undefined && staging.blockCount > 2 * entries.length) {
    for (const [where, id] of entries) {
      const value = where === 'Committed' ? undefined : yield* getStagedRecord(tx, place, id)
      if (value !== undefined) found.set(id, value)
      if (found.size % GIVE_WAY_COUNT === 0) yield* giveWay()
    }
  } else if (staging !== undefined) {
    const all = few ?? (yield* scanStagedBlocks(tx, place, staging.blockCount))
    for (const entry of all) found.set(idOf(entry), entry.value)
  }
  return (id) => {
    const value = found.get(id)
    return value && decodeRecord<StagedBlock>(value)
  }
}

const idOf = ({ key }: Entry): string => String(decodeKey(key).at(-1))

export type BlockLists = {
  /** Undefined if there are only uncommitted blocks. */
  readonly blob: Blob | undefined
  /** In the order of the content; undefined if not requested. */
  readonly committed: readonly Block[] | undefined
  /** Ordered by id. */
  readonly uncommitted: readonly Block[] | undefined
}

export type BlockListType = 'committed' | 'uncommitted' | 'all'

/** An uncommitted blob has neither an ETag nor tags, so it meets no condition on them. */
const UNCOMMITTED: Validators = { modifiedMs: 0 }

/** Get Block List. A snapshot or a version has no uncommitted blocks. */
export function* getBlockList(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  type: BlockListType,
  nowMs: number,
): Step<BlockLists> {
  const { containerId: id, name, stored } = yield* findBlobAt(tx, address, nowMs)
  const blob = stored?.blob
  // What clients append to a lake file isn't blocks.
  const hasBlocks = address.at === undefined && blob?.isLakeFile !== true
  const staging = hasBlocks ? yield* getStaging(tx, id, name, nowMs) : undefined
  const found = blob ?? staging
  if (found === undefined) throw new StorageError('BlobNotFound')
  checkReadConditions(guard.conditions, blob ?? UNCOMMITTED, guard.readRule)
  checkLeaseForRead(found.lease, guard.leaseId, nowMs, 'blob')
  if (blob !== undefined) {
    requireType(blob, 'BlockBlob')
    checkOnline(blob, nowMs)
  }
  const committed = blob === undefined || type === 'uncommitted' ? [] : yield* committedOf(tx, blob)
  const uncommitted =
    staging === undefined || type === 'committed'
      ? []
      : yield* uncommittedOf(tx, { containerId: id, name, id: staging.id })
  return {
    blob,
    committed: type === 'uncommitted' ? undefined : committed,
    uncommitted: type === 'committed' ? undefined : uncommitted,
  }
}

function* committedOf(tx: ReadTx, blob: Blob): Step<Block[]> {
  const blocks = yield* committedBlocks(tx, blob)
  return blocks.map(({ id, lengthBytes }) => [id, lengthBytes])
}

function* uncommittedOf(tx: ReadTx, place: StagingPlace): Step<Block[]> {
  const blocks: Block[] = []
  for (const entry of yield* scanStagedBlocks(tx, place)) {
    blocks.push([idOf(entry), decodeRecord<StagedBlock>(entry.value).lengthBytes])
    if (blocks.length % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
  return blocks
}
