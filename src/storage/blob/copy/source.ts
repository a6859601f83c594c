// A blob or file of this store as the source of a copy. Its errors become CannotVerifyCopySource, with the
// status that reading the source would have had.
import assert from 'node:assert/strict'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import {
  checkReadConditions,
  checkSourceConditions,
  NO_CONDITIONS,
  type Conditions,
} from '../../shared/condition.ts'
import { NO_CONTENT_TYPE, type ContentHeaders } from '../../shared/content-headers.ts'
import {
  ofSource,
  type OtherSource,
  type SourceContent,
  type SourceState,
} from '../../shared/copy/copy-source.ts'
import { StorageError } from '../../shared/error.ts'
import { findBlobAt, isPast, requireBlob, type BlobAddress } from '../blob.ts'
import type { Blob, StoredBlob } from '../record.ts'
import { readContent } from '../content/content.ts'
import { checkEncryption, type RequestEncryption } from '../encryption.ts'
import { checkNoPendingCopy, checkNotIncremental } from '../guard.ts'
import { checkOnline } from '../tier.ts'

export type SourceRead = {
  readonly address: BlobAddress | OtherSource
  readonly conditions: Conditions
  readonly encryption: RequestEncryption
  /** The bytes are read as by Get Blob, so an unmet condition is a 304 or 412 of the source. */
  readonly isFetched?: boolean
  /** The state that was read before, which must still be the current one. */
  readonly stamp?: number
  /** Archived bytes can't be read, but a copy can rehydrate them. */
  readonly mayBeArchived?: boolean
}

export function* findSource(
  tx: ReadTx,
  source: SourceRead,
  nowMs: number,
): Step<{ readonly stored: StoredBlob }> {
  const stored = yield* findStored(tx, source.address, nowMs)
  if (source.isFetched !== true) {
    checkSourceConditions(source.conditions, stored.blob)
  }
  try {
    checkSource(stored.blob, source, nowMs)
    return { stored }
  } catch (error) {
    throw ofSource(error)
  }
}

function* findStored(tx: ReadTx, address: SourceRead['address'], nowMs: number): Step<StoredBlob> {
  try {
    if ('find' in address) return blobOfFile(yield* address.find(tx, nowMs))
    return requireBlob(yield* findBlobAt(tx, address, nowMs)).stored
  } catch (error) {
    throw ofSource(error)
  }
}

const NO_BYTES = new Uint8Array(0)

/** The file as a blob: a copy of a file is a block blob (Copy Blob, remarks), with its bytes in a map. */
function blobOfFile({ content, headers, ...state }: SourceState): StoredBlob {
  assert(content !== undefined && 'map' in content, 'the bytes of a file are in a map')
  return {
    blob: { type: 'BlockBlob', ...state, map: content.map, headers: typed(headers) },
    bytes: NO_BYTES,
  }
}

/** A file without a content type becomes a blob with the default type. */
function typed({ contentType, ...rest }: ContentHeaders): ContentHeaders {
  return contentType === undefined || contentType === NO_CONTENT_TYPE
    ? rest
    : { contentType, ...rest }
}

/** A blob as the source of a copy to a file. */
export function* findBlobState(
  tx: ReadTx,
  address: BlobAddress,
  nowMs: number,
  stamp?: number,
): Step<SourceState> {
  const source = {
    address,
    conditions: NO_CONDITIONS,
    encryption: {},
    ...(stamp !== undefined && { stamp }),
  }
  const { stored } = yield* findSource(tx, source, nowMs)
  const { lengthBytes, headers, metadata, createdMs, modifiedMs } = stored.blob
  const found = { lengthBytes, headers, metadata, createdMs, modifiedMs, stamp: stored.blob.stamp }
  return { ...found, content: yield* sharedContent(tx, stored) }
}

function* sharedContent(tx: ReadTx, stored: StoredBlob): Step<SourceContent | undefined> {
  const { encryption, map, lengthBytes } = stored.blob
  if (encryption !== undefined) return undefined
  if (map !== undefined) return { map }
  const whole: ByteRange = { from: 0, to: lengthBytes }
  return yield* readContent(tx, stored, whole)
}

function checkSource(blob: Blob, source: SourceRead, nowMs: number): void {
  if (source.isFetched === true) checkReadConditions(source.conditions, blob)
  if (source.stamp !== undefined && source.stamp !== blob.stamp) {
    throw new StorageError('SourceConditionNotMet')
  }
  checkNoPendingCopy(blob)
  if (source.mayBeArchived !== true) checkOnline(blob, nowMs)
  if (!isPast(blob)) checkNotIncremental(blob)
  checkEncryption(blob.encryption, source.encryption, 'read')
}
