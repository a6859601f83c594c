// Flush Data: what was appended up to a position becomes content, in one step. Nothing may be missing or too much.
import { putMapRecord } from '../../extent/content/map.ts'
import { addReferences, removeReferences } from '../../extent/content/reference.ts'
import { isAtHand, type Piece } from '../../extent/content/slice.ts'
import { readShort, smallPiece } from '../../extent/content/small.ts'
import { decodeKey } from '../../kv/key.ts'
import type { Entry, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeSharedRecord } from '../../kv/record.ts'
import { giveWay, need } from '../../kv/step.ts'
import { nextStamp, type Moment } from '../../node/moment.ts'
import { isSameEncryption } from '../blob/encryption.ts'
import { afterWrite } from '../blob/blob.ts'
import {
  discardBlock,
  getStaging,
  saveStaging,
  scanStagedBlocks,
  type StagedBlock,
  type Staging,
} from '../blob/content/staging.ts'
import type { BlobGuard } from '../blob/guard.ts'
import { stagingKey } from '../blob/keys.ts'
import type { Blob, StoredBlob } from '../blob/record.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import { ENCRYPTION_NEEDED } from '../shared/encryption-needed.ts'
import { StorageError } from '../shared/error.ts'
import { indexLease } from '../shared/leased.ts'
import {
  appendNow,
  checkAppendData,
  findFile,
  positionOfBlockId,
  type AppendData,
  type Appended,
  stageAppend,
  type FileTarget,
} from './append-data.ts'
import type { LeaseUse } from './lease-use.ts'
import type { PathAddress } from './path-address.ts'

export type FlushData = {
  /** The length of the file after the flush. */
  readonly position: number
  /** Data behind the position stays for a later flush. */
  readonly retainsUncommittedData: boolean
  readonly guard: BlobGuard
  readonly leaseUse?: LeaseUse
  /** Those that the request names; the others stay. */
  readonly headers?: ContentHeaders
  /** For the content. */
  readonly newId: number
}

type Part = { readonly position: number; readonly block: StagedBlock }
type StagedPart = Part & { readonly entry: Entry }

export function* flushData(
  tx: Tx,
  address: PathAddress,
  flush: FlushData,
  moment: Moment,
): Step<Appended> {
  const target = yield* findFile(tx, address, flush, 'InvalidFlushOperation', moment.nowMs)
  return yield* flushTarget(tx, target, flush, moment)
}

/** Append Data with `flush=true`: the file ends with these bytes, behind everything that was appended before them. */
export function* appendAndFlush(
  tx: Tx,
  address: PathAddress,
  append: AppendData,
  bytes: StagedBlock,
  flush: Pick<FlushData, 'headers' | 'newId'>,
  moment: Moment,
): Step<Appended> {
  const target = yield* checkAppendData(tx, address, append, moment.nowMs)
  const { encryption } = target.stored.blob
  if (!isSameEncryption(encryption, bytes.encryption)) yield* need(ENCRYPTION_NEEDED)
  if (target.stored.blob.type === 'AppendBlob') {
    const blob = yield* appendNow(tx, target, bytes, moment)
    return { blob, isLeaseRenewed: target.used.isRenewed }
  }
  const { containerId, name, stored } = target
  // The flush would find nothing to do if they end where the file ends.
  if (append.position < stored.blob.lengthBytes) throw new StorageError('InvalidFlushPosition')
  const position = append.position + bytes.lengthBytes
  if ((yield* getStaging(tx, containerId, name, moment.nowMs)) === undefined) {
    // Nothing was appended before: these bytes need no place of their own until they are content.
    const parts = partsUpTo(
      [{ position: append.position, block: bytes }],
      stored.blob.lengthBytes,
      position,
    )
    return yield* commitParts(tx, target, parts, flush, moment)
  }
  yield* stageAppend(tx, target, append.position, bytes, moment)
  const whole = { ...flush, position, retainsUncommittedData: false }
  return yield* flushTarget(tx, target, whole, moment)
}

function* flushTarget(
  tx: Tx,
  target: FileTarget,
  { position, retainsUncommittedData, ...flush }: Omit<FlushData, 'guard' | 'leaseUse'>,
  moment: Moment,
): Step<Appended> {
  const { containerId, name, stored } = target
  const staging = yield* getStaging(tx, containerId, name, moment.nowMs)
  const staged = staging === undefined ? [] : yield* stagedParts(tx, target, staging)
  const parts = partsUpTo(staged, stored.blob.lengthBytes, position)
  if (staging !== undefined) {
    yield* discardParts(tx, target, staging, retainsUncommittedData ? parts : staged)
  }
  return yield* commitParts(tx, target, parts, flush, moment)
}

/** The parts become content. They are no longer staged. */
function* commitParts(
  tx: Tx,
  target: FileTarget,
  parts: readonly Part[],
  { headers, newId }: Pick<FlushData, 'headers' | 'newId'>,
  moment: Moment,
): Step<Appended> {
  const { key, stored, used } = target
  const { blob: current } = stored
  const grown = parts.length === 0 ? stored : yield* withParts(tx, target, parts, newId)
  const blob: Blob = {
    ...afterWrite(grown.blob, used.lease, moment, nextStamp(current.stamp, moment)),
    headers: {
      ...(parts.length === 0 ? current.headers : withoutMd5(current.headers)),
      ...headers,
    },
  }
  tx.put(key, encodeSharedRecord(blob, grown.bytes))
  if (used.lease !== current.lease) indexLease(tx, key, used.lease)
  return { blob, isLeaseRenewed: used.isRenewed }
}

/** It was the hash of the content before. */
function withoutMd5({ contentMd5: _md5, ...headers }: ContentHeaders): ContentHeaders {
  return headers
}

/** Parts between two pauses for other transactions. */
const GIVE_WAY_COUNT = 256

/** In the order of their positions. */
function* stagedParts(
  tx: Tx,
  { containerId, name }: FileTarget,
  { id, blockCount }: Staging,
): Step<readonly StagedPart[]> {
  const parts: StagedPart[] = []
  for (const entry of yield* scanStagedBlocks(tx, { containerId, name, id }, blockCount)) {
    const position = positionOfBlockId(String(decodeKey(entry.key).at(-1)))
    parts.push({ entry, position, block: decodeRecord<StagedBlock>(entry.value) })
    if (parts.length % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
  return parts
}

/** They follow each other without gap or overlap, from the current end of the file to its new one. */
function partsUpTo<P extends Part>(staged: readonly P[], from: number, to: number): readonly P[] {
  const parts: P[] = []
  let end = from
  for (const part of staged) {
    if (part.position < from) continue
    if (end >= to || part.position !== end) break
    end += part.block.lengthBytes
    parts.push(part)
  }
  if (end !== to) throw new StorageError('InvalidFlushPosition')
  return parts
}

/** Before the content refers to the same bytes: a scan of the parts would visit those references each time. */
function* discardParts(
  tx: Tx,
  { containerId, name }: FileTarget,
  staging: Staging,
  parts: readonly StagedPart[],
): Step<void> {
  for (const { entry } of parts) yield* discardBlock(tx, entry)
  const blockCount = staging.blockCount - parts.length
  if (blockCount === 0) tx.delete(stagingKey(containerId, name))
  else saveStaging(tx, containerId, name, { ...staging, blockCount })
}

/** More pieces would make each flush of a growing file read and write a longer record. */
const RECORD_PIECES_MAX = 16

/**
 * The file with the parts at its end. Few bytes are in the record, like those of Put Blob, and so are a few pieces in
 * extents. Everything else is in a map, where the next short part costs one record.
 */
function* withParts(
  tx: Tx,
  { key, stored }: FileTarget,
  parts: readonly Part[],
  newId: number,
): Step<StoredBlob> {
  const { content, map, inline: _inline, ...rest } = stored.blob
  const lengthBytes = parts.reduce((sum, { block }) => sum + block.lengthBytes, rest.lengthBytes)
  const file = { ...rest, lengthBytes }
  if (map !== undefined) {
    yield* putParts(tx, map, parts)
    return { blob: { ...file, map }, bytes: NO_BYTES }
  }
  const added = parts.flatMap(({ block }) => block.content.pieces)
  if (content === undefined && file.encryption === undefined) {
    const short = yield* readShort(tx, added, lengthBytes)
    const bytes = short && Buffer.concat([stored.bytes, short])
    if (bytes !== undefined) return { blob: { ...file, inline: true }, bytes }
  }
  const before = content?.pieces ?? inlinePieces(newId, stored.bytes)
  const pieces = [...before, ...added]
  if (pieces.length <= RECORD_PIECES_MAX && !pieces.some(isAtHand)) {
    const after = { id: content?.id ?? newId, pieces }
    yield* addReferences(tx, key, { ...after, pieces: added })
    return { blob: { ...file, content: after }, bytes: NO_BYTES }
  }
  if (content !== undefined) yield* removeReferences(tx, content)
  if (before.length > 0) yield* putMapRecord(tx, newId, 0, before)
  yield* putParts(tx, newId, parts)
  return { blob: { ...file, map: newId }, bytes: NO_BYTES }
}

const NO_BYTES = new Uint8Array(0)

function inlinePieces(id: number, bytes: Uint8Array): readonly Piece[] {
  return bytes.length === 0 ? [] : [smallPiece(id, bytes)]
}

function* putParts(tx: Tx, map: number, parts: readonly Part[]): Step<void> {
  for (const [at, { position, block }] of parts.entries()) {
    yield* putMapRecord(tx, map, position, block.content.pieces)
    if (at % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
}
