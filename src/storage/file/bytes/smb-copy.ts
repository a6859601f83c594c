// FSCTL_SRV_COPYCHUNK as a transaction ([MS-SMB2] 3.3.5.15.6). The target references the source's slices, so no bytes
// are read or written. The copy ends at the first chunk that fails; earlier chunks stay copied.
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import type { FileTx } from '../open/open.ts'
import { requireOpened } from '../open/opened-node.ts'
import { readRange, writeRange, FILE_BYTES_MAX } from './range.ts'
import type { FrozenTimes } from '../tree/set-basic.ts'
import { breakForWrite } from '../cache/smb-cache.ts'
import { checkLocks } from '../open/smb-lock.ts'
import { lastWriteOf, type OpenedAt } from './smb-range.ts'

export type Chunk = {
  readonly sourceOffset: number
  readonly targetOffset: number
  readonly lengthBytes: number
}

type ChunkCopy = {
  readonly source: OpenedAt
  readonly target: OpenedAt
  readonly chunks: readonly Chunk[]
  readonly frozen: FrozenTimes
}

export type CopiedChunks = {
  readonly chunkCount: number
  readonly totalBytes: number
  /** Why the copy ended early; 'source': the chunk is not inside the source. */
  readonly failure: 'source' | StorageError | undefined
}

export function* copyChunks(
  tx: FileTx,
  copy: ChunkCopy,
  by: { readonly moment: Moment; readonly newId: number },
): Step<CopiedChunks> {
  let chunkCount = 0
  let totalBytes = 0
  for (const chunk of copy.chunks) {
    const failure = yield* copyChunk(tx, copy, chunk, by)
    if (failure !== undefined) return { chunkCount, totalBytes, failure }
    chunkCount += 1
    totalBytes += chunk.lengthBytes
  }
  return { chunkCount, totalBytes, failure: undefined }
}

/** Looks up source and target for each chunk, since they may be the same file. All checks precede the first write. */
function* copyChunk(
  tx: FileTx,
  { source, target, frozen }: ChunkCopy,
  { sourceOffset, targetOffset, lengthBytes }: Chunk,
  by: { readonly moment: Moment; readonly newId: number },
): Step<CopiedChunks['failure']> {
  const from = { from: sourceOffset, to: sourceOffset + lengthBytes }
  const to = { from: targetOffset, to: targetOffset + lengthBytes }
  try {
    const { node } = yield* requireOpened(tx, source.address, source.open)
    if (from.to > node.lengthBytes) return 'source'
    yield* checkLocks(tx, source.open, from, 'read')
    const file = yield* requireOpened(tx, target.address, target.open)
    yield* checkLocks(tx, target.open, to, 'write')
    if (to.to > FILE_BYTES_MAX) throw new StorageError('ShareSizeLimitReached')
    const pieces = yield* readRange(tx, node, from)
    const change = { ...by, ...lastWriteOf(frozen), grow: true }
    yield* breakForWrite(tx, target.open, file.open.holder)
    yield* writeRange(tx, file, { offset: targetOffset, pieces }, change)
    return undefined
  } catch (error) {
    if (error instanceof StorageError) return error
    throw error
  }
}
