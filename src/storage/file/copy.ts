// Copies of a file or blob that is in this store: one transaction that shares the slices of the bytes and nothing
// that can change. What is wrong with the source is told as CannotVerifyCopySource.
import type { ByteRange } from '../../extent/interval-map.ts'
import type { Piece } from '../../extent/slice.ts'
import { smallPiece } from '../../extent/small.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import type { BlobAddress, StoredBlob } from '../blob/blob.ts'
import { readContent } from '../blob/content.ts'
import { findSource, type SourceRead } from '../blob/copy.ts'
import { EncryptionNeeded } from '../blob/put.ts'
import type { ContentHeaders } from '../content-headers.ts'
import { ofSource } from '../copy-source.ts'
import type { CopyState } from '../copy-state.ts'
import { StorageError } from '../error.ts'
import { copyMap } from '../map-copy.ts'
import { mapIntervals, putMapRecord } from '../map.ts'
import type { Metadata } from '../metadata.ts'
import type { Moment } from '../moment.ts'
import {
  copiedProperties,
  sourceProperties,
  type CopyProperties,
  type SourceProperties,
} from './copy-properties.ts'
import { createFile } from './create.ts'
import { fileTimeOf } from './file-time.ts'
import { saveNode, type Existing, type FileAddress, type FileNode, type Located } from './node.ts'
import type { FileTx } from './open.ts'
import { FILE_BYTES_MAX } from './range.ts'
import { locateForReplace, type ReplaceGuard } from './rest-guard.ts'
import { requireSourceFile } from './source.ts'

/** What every copy is told of its destination. */
export type AskedCopy = {
  readonly guard: ReplaceGuard
  readonly properties: CopyProperties
  /** Given, it replaces that of the source. */
  readonly metadata: Metadata | undefined
  readonly state: Pick<CopyState, 'id' | 'source'>
}

type CopyIds = {
  readonly nodeId: number
  readonly mapId: number
  /** For a few bytes that stand in the record of a blob. */
  readonly smallId: number
}

export type CopyFile = AskedCopy & {
  readonly source: Pick<SourceRead, 'address' | 'conditions' | 'encryption' | 'stamp'>
  readonly ids: CopyIds
  /** The bytes of a blob that was encrypted, as they are without. */
  readonly unsealed?: readonly Piece[]
}

/** Copy File from this store. */
export function* copyFile(
  tx: FileTx,
  address: FileAddress,
  copy: CopyFile,
  moment: Moment,
): Step<FileNode> {
  const target = yield* locateForReplace(tx, address, copy.guard, moment.nowMs)
  const source = yield* findCopySource(tx, copy.source, moment.nowMs)
  checkFileLength(source.lengthBytes)
  const map = yield* copyBytes(tx, source, copy)
  const node = yield* makeCopy(tx, target, copy, { ...source, nodeId: copy.ids.nodeId }, moment)
  const { lengthBytes: totalBytes } = source
  const state: CopyState = {
    ...copy.state,
    status: 'success',
    copiedBytes: totalBytes,
    totalBytes,
    completedMs: moment.nowMs,
  }
  const content = map === undefined ? {} : { map, mapSince: target.view.lastSnapshot }
  return saveNode(tx, target.view, node, { ...node, ...content, copy: state })
}

export function checkFileLength(lengthBytes: number): void {
  if (lengthBytes > FILE_BYTES_MAX) throw new StorageError('OutOfRangeInput')
}

export type CopiedSource = {
  readonly lengthBytes: number
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly properties: SourceProperties
}

/** The destination, with its length and without bytes. */
export function* makeCopy(
  tx: FileTx,
  target: Located,
  { properties, metadata }: AskedCopy,
  source: CopiedSource & { readonly nodeId: number },
  moment: Moment,
): Step<FileNode> {
  const { nodeId, lengthBytes, headers } = source
  const made = {
    nodeId,
    lengthBytes,
    headers,
    metadata: metadata ?? source.metadata,
    properties: copiedProperties(properties, source.properties),
  }
  return yield* createFile(tx, target, made, moment)
}

type FoundSource = CopiedSource & ({ readonly file: Existing } | { readonly stored: StoredBlob })

function* findCopySource(tx: ReadTx, source: CopyFile['source'], nowMs: number): Step<FoundSource> {
  const { address } = source
  if (!('share' in address)) return yield* findBlobSource(tx, { ...source, address }, nowMs)
  try {
    const file = yield* requireSourceFile(tx, address)
    const { lengthBytes, headers = {}, metadata } = file.node
    const properties = yield* sourceProperties(tx, file)
    return { lengthBytes, headers, metadata, properties, file }
  } catch (error) {
    throw ofSource(error)
  }
}

function* findBlobSource(
  tx: ReadTx,
  source: SourceRead & { readonly address: BlobAddress },
  nowMs: number,
): Step<FoundSource> {
  const { stored } = yield* findSource(tx, source, nowMs)
  const { lengthBytes, headers, metadata, createdMs, modifiedMs } = stored.blob
  const [creationTime, lastWriteTime] = [fileTimeOf(createdMs), fileTimeOf(modifiedMs)]
  return { lengthBytes, headers, metadata, properties: { creationTime, lastWriteTime }, stored }
}

/** The map of the copy; undefined where there is nothing but zeros. */
function* copyBytes(
  tx: FileTx,
  source: FoundSource,
  { ids, unsealed }: CopyFile,
): Step<number | undefined> {
  if ('file' in source) {
    const { map, stamp } = source.file.node
    if (map === undefined) return undefined
    yield* copyMap(tx, { of: map, to: ids.mapId, stamp })
    return ids.mapId
  }
  if (unsealed !== undefined) return yield* putPieces(tx, ids.mapId, unsealed)
  const { blob } = source.stored
  if (blob.encryption !== undefined) throw new EncryptionNeeded()
  if (blob.map !== undefined) return yield* splitMap(tx, blob.map, ids.mapId)
  const whole: ByteRange = { from: 0, to: blob.lengthBytes }
  const content = yield* readContent(tx, source.stored, whole)
  if ('pieces' in content) {
    const pieces = content.pieces.filter((piece) => piece.slice !== undefined)
    return yield* putPieces(tx, ids.mapId, pieces)
  }
  if (content.bytes.length === 0) return undefined
  return yield* putPieces(tx, ids.mapId, [smallPiece(ids.smallId, content.bytes)])
}

/** A record of a file's map is one piece; one of a block list is many. */
function* splitMap(tx: FileTx, from: number, mapId: number): Step<number> {
  for (const { offset, piece } of yield* mapIntervals(tx, from, { from: 0, to: Infinity })) {
    yield* putMapRecord(tx, mapId, offset, [piece])
  }
  return mapId
}

function* putPieces(tx: FileTx, mapId: number, pieces: readonly Piece[]): Step<number> {
  let offset = 0
  for (const piece of pieces) {
    yield* putMapRecord(tx, mapId, offset, [piece])
    offset += piece.lengthBytes
  }
  return mapId
}
