// Blobs: one record each, with a small body inside it or a map of slices. Each operation is one
// transaction; what it reads and what it writes is one state.
import { addReferences, removeReferences } from '../../extent/reference.ts'
import type { Content } from '../../extent/slice.ts'
import type { Key, ReadTx, Step, Tx, Value } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes } from '../../kv/record.ts'
import {
  checkReadConditions,
  checkWriteConditions,
  type Conditions,
  type ReadRule,
  type Validators,
} from '../condition.ts'
import { StorageError } from '../error.ts'
import { etagOf } from '../etag.ts'
import type { Metadata } from '../metadata.ts'
import { nextStamp, type Moment } from '../moment.ts'
import { requireContainer, type ContainerAddress } from './container.ts'
import { blobKey } from './keys.ts'

export type BlobAddress = ContainerAddress & { readonly blob: string }

/** The entity headers that a blob keeps and gives back. */
export type BlobHttpHeaders = {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentLanguage?: string
  readonly contentDisposition?: string
  readonly cacheControl?: string
  /** Base64. */
  readonly contentMd5?: string
}

export type Blob = {
  readonly type: 'BlockBlob'
  /** Gives the ETag; greater after every write. */
  readonly stamp: number
  readonly createdMs: number
  readonly modifiedMs: number
  readonly lengthBytes: number
  readonly headers: BlobHttpHeaders
  readonly metadata: Metadata
  /** The bytes stand behind the record … */
  readonly inline?: true
  /** … or in extents. */
  readonly content?: Content
}

export type StoredBlob = { readonly blob: Blob; readonly bytes: Uint8Array }

export type BlobGuard = {
  readonly conditions: Conditions
  readonly readRule: ReadRule
  readonly leaseId?: string
}

/** A body as Put Blob stores it: small ones as bytes, others already durable in extents. */
export type PutBody =
  { readonly bytes: Uint8Array } | { readonly lengthBytes: number; readonly content: Content }

export type PutBlob = {
  readonly guard: BlobGuard
  /** The caller may create blobs but not replace them (a SAS with `c` and without `w`). */
  readonly createOnly: boolean
  readonly headers: BlobHttpHeaders
  readonly metadata: Metadata
}

/** What Put Blob would fail with now; asked before a long body is read, and again when it is stored. */
export function* checkPutBlob(tx: ReadTx, address: BlobAddress, put: PutBlob): Step<Target> {
  const target = yield* targetOf(tx, address)
  const current = target.stored?.blob
  checkWriteConditions(put.guard.conditions, current && conditionState(current), 'create')
  checkLeaseId(put.guard.leaseId)
  if (put.createOnly && current !== undefined) throw new StorageError('UnauthorizedBlobOverwrite')
  return target
}

export function* putBlob(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  body: PutBody,
  moment: Moment,
): Step<Blob> {
  const { key, stored } = yield* checkPutBlob(tx, address, put)
  const current = stored?.blob
  const inline = 'bytes' in body
  const blob: Blob = {
    type: 'BlockBlob',
    stamp: nextStamp(current?.stamp, moment),
    createdMs: current?.createdMs ?? moment.nowMs,
    modifiedMs: modifiedMs(current, moment),
    lengthBytes: inline ? body.bytes.length : body.lengthBytes,
    headers: put.headers,
    metadata: put.metadata,
    ...(inline ? { inline: true } : { content: body.content }),
  }
  if (current?.content !== undefined) yield* removeReferences(tx, current.content)
  if (blob.content !== undefined) yield* addReferences(tx, key, blob.content)
  tx.put(key, encodeRecord(blob, inline ? body.bytes : undefined))
  return blob
}

/** Get Blob, Get Blob Properties, Get Blob Metadata. */
export function* readBlob(tx: ReadTx, address: BlobAddress, guard: BlobGuard): Step<StoredBlob> {
  const { stored } = yield* targetOf(tx, address)
  if (stored === undefined) throw new StorageError('BlobNotFound')
  checkReadConditions(guard.conditions, conditionState(stored.blob), guard.readRule)
  checkLeaseId(guard.leaseId)
  return stored
}

/** Set Blob Properties, Set Blob Metadata: the named part is replaced whole. */
export function* changeBlob(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  change: Pick<Blob, 'headers'> | Pick<Blob, 'metadata'>,
  moment: Moment,
): Step<Blob> {
  const { key, stored } = yield* existingTarget(tx, address, guard)
  const stamp = nextStamp(stored.blob.stamp, moment)
  const blob = { ...stored.blob, ...change, stamp, modifiedMs: modifiedMs(stored.blob, moment) }
  tx.put(key, encodeRecord(blob, stored.bytes))
  return blob
}

export function* deleteBlob(tx: Tx, address: BlobAddress, guard: BlobGuard): Step<void> {
  const { key, stored } = yield* existingTarget(tx, address, guard)
  yield* removeBlob(tx, key, stored.blob)
}

/** Takes the record away and lets go of its bytes. */
export function* removeBlob(tx: Tx, key: Key, blob: Blob): Step<void> {
  if (blob.content !== undefined) yield* removeReferences(tx, blob.content)
  tx.delete(key)
}

export function decodeBlob(value: Value): Blob {
  return decodeRecord<Blob>(value)
}

type Target = { readonly key: Key; readonly stored: StoredBlob | undefined }

function* targetOf(tx: ReadTx, address: BlobAddress): Step<Target> {
  const container = yield* requireContainer(tx, address)
  const key = blobKey(container.id, address.blob)
  const value = yield* tx.get(key)
  if (value === undefined) return { key, stored: undefined }
  return { key, stored: { blob: decodeBlob(value), bytes: recordBytes(value) } }
}

function* existingTarget(tx: ReadTx, address: BlobAddress, guard: BlobGuard) {
  const { key, stored } = yield* targetOf(tx, address)
  if (stored === undefined) throw new StorageError('BlobNotFound')
  checkWriteConditions(guard.conditions, conditionState(stored.blob), 'update')
  checkLeaseId(guard.leaseId)
  return { key, stored }
}

/** Last-Modified never goes back, whichever of two writers took its moment first. */
function modifiedMs(current: Blob | undefined, moment: Moment): number {
  return current === undefined ? moment.nowMs : Math.max(current.modifiedMs, moment.nowMs)
}

/** Most requests have no conditions, so the ETag is made when somebody looks at it. */
function conditionState(blob: Blob): Validators {
  return {
    get etag() {
      return etagOf(blob.stamp)
    },
    lastModifiedMs: blob.modifiedMs,
  }
}

/** No operation takes a lease on a blob yet, so an id that is sent matches none. */
function checkLeaseId(leaseId: string | undefined): void {
  if (leaseId !== undefined) throw new StorageError('LeaseNotPresentWithBlobOperation')
}
