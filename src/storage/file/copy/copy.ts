// Copies a file or blob within this store: one transaction that references the immutable slices of the source. Errors of
// the source become CannotVerifyCopySource.
import type { Piece } from '../../../extent/content/slice.ts'
import { smallPiece } from '../../../extent/content/small.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { need } from '../../../kv/step.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import { ofSource, type OtherSource, type SourceState } from '../../shared/copy/copy-source.ts'
import { completedCopy, type CopyState } from '../../shared/copy/copy-state.ts'
import { ENCRYPTION_NEEDED } from '../../shared/encryption-needed.ts'
import { StorageError } from '../../shared/error.ts'
import { copyMap } from '../../../extent/content/map-copy.ts'
import { mapIntervals, putMapRecord } from '../../../extent/content/map.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Moment } from '../../../node/moment.ts'
import {
  copiedSmbProperties,
  sourceProperties,
  type CopyProperties,
  type SourceProperties,
} from './copy-properties.ts'
import { createFile } from '../tree/create.ts'
import { fileTimeOf } from '../tree/file-time.ts'
import {
  saveNode,
  type Existing,
  type FileAddress,
  type FileNode,
  type Located,
} from '../tree/node.ts'
import type { FileTx } from '../open/open.ts'
import { FILE_BYTES_MAX } from '../bytes/range.ts'
import { locateForReplace, type ReplaceGuard } from '../open/rest-guard.ts'
import { requireSourceFile } from './source.ts'

/** What every copy request specifies for its destination. */
export type FileCopyRequest = {
  readonly guard: ReplaceGuard
  readonly properties: CopyProperties
  /** If given, it replaces the source's metadata. */
  readonly metadata: Metadata | undefined
  readonly state: Pick<CopyState, 'id' | 'source'>
}

type CopyIds = {
  readonly nodeId: number
  readonly mapId: number
  /** The id for the bytes of a small blob, which are in its record. */
  readonly smallId: number
}

export type CopyFile = FileCopyRequest & {
  readonly source: {
    readonly address: FileAddress | OtherSource
    /** The state that was checked before; it must still be current. */
    readonly stamp?: number
  }
  readonly ids: CopyIds
  /** The decrypted bytes of an encrypted blob. */
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
  const state = completedCopy(copy.state, source.lengthBytes, moment.nowMs)
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

/** Creates the destination with its full length, but without bytes. */
export function* makeCopy(
  tx: FileTx,
  target: Located,
  { properties, metadata }: FileCopyRequest,
  source: CopiedSource & { readonly nodeId: number },
  moment: Moment,
): Step<FileNode> {
  const { nodeId, lengthBytes, headers } = source
  const made = {
    nodeId,
    lengthBytes,
    headers,
    metadata: metadata ?? source.metadata,
    properties: copiedSmbProperties(properties, source.properties),
  }
  return yield* createFile(tx, target, made, moment)
}

type FoundSource = CopiedSource & ({ readonly file: Existing } | Pick<SourceState, 'content'>)

function* findCopySource(tx: ReadTx, source: CopyFile['source'], nowMs: number): Step<FoundSource> {
  const { address, stamp } = source
  if ('find' in address) return ofBlob(yield* address.find(tx, nowMs, stamp))
  try {
    const file = yield* requireSourceFile(tx, address)
    const { lengthBytes, headers = {}, metadata } = file.node
    const properties = yield* sourceProperties(tx, file)
    return { lengthBytes, headers, metadata, properties, file }
  } catch (error) {
    throw ofSource(error)
  }
}

function ofBlob({ createdMs, modifiedMs, ...state }: SourceState): FoundSource {
  const [creationTime, lastWriteTime] = [fileTimeOf(createdMs), fileTimeOf(modifiedMs)]
  return { ...state, properties: { creationTime, lastWriteTime } }
}

/** The map of the copy; undefined if all bytes are zero. */
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
  const { content } = source
  if (content === undefined) return yield* need(ENCRYPTION_NEEDED)
  if ('map' in content) return yield* splitMap(tx, content.map, ids.mapId)
  if ('pieces' in content) {
    const pieces = content.pieces.filter((piece) => piece.slice !== undefined)
    return yield* putPieces(tx, ids.mapId, pieces)
  }
  if (content.bytes.length === 0) return undefined
  return yield* putPieces(tx, ids.mapId, [smallPiece(ids.smallId, content.bytes)])
}

/** A record of a file's map has one piece; a record of a block list has many. */
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
