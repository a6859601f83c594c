// A copy with another encryption key can't share slices. Its bytes are encrypted again in one run, which is
// then cut like the source, so that blocks stay blocks and unwritten pages stay unwritten.
import assert from 'node:assert/strict'
import { addReferences } from '../../../extent/content/reference.ts'
import { cutPiece } from '../../../extent/content/slice-list.ts'
import type { Hole, Piece } from '../../../extent/content/slice.ts'
import type { Key, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import type { StoredBlob } from '../record.ts'
import {
  committedBlocks,
  putBlocks,
  readContent,
  type BlobBytes,
  type BlobContent,
} from '../content/content.ts'
import { mapIntervals, putMapRecord } from '../../../extent/content/map.ts'
import type { BlobEncryption } from '../encryption.ts'

/** A part of the run: a block, an interval of a map, or the whole run. */
type ResealedPart = {
  readonly lengthBytes: number
  readonly blockId?: string
  readonly offset?: number
}

/** The bytes of a blob, in order and without its holes, and how to cut them. */
type ResealPlan = {
  readonly source: BlobBytes
  /** The length of the run; with holes, the blob is longer. */
  readonly runBytes: number
  readonly lengthBytes: number
  readonly parts: readonly ResealedPart[]
}

export type Resealed = Omit<ResealPlan, 'source'> & {
  readonly encryption: BlobEncryption | undefined
  /** The run as one piece; none if it is empty. */
  readonly pieces: readonly Piece[]
}

export function* planReseal(tx: ReadTx, stored: StoredBlob): Step<ResealPlan> {
  const { blob } = stored
  const { lengthBytes } = blob
  if (blob.type !== 'BlockBlob') {
    const intervals =
      blob.map === undefined ? [] : yield* mapIntervals(tx, blob.map, { from: 0, to: Infinity })
    const parts = intervals.map(({ offset, piece }) => {
      return { offset, lengthBytes: piece.lengthBytes }
    })
    return planOf(lengthBytes, { pieces: intervals.map(({ piece }) => piece) }, parts)
  }
  const blocks = yield* committedBlocks(tx, blob)
  if (blocks.length > 0) {
    const parts = blocks.map((block) => ({ blockId: block.id, lengthBytes: block.lengthBytes }))
    const pieces: (Piece | Hole)[] = blocks.flatMap((block) => block.pieces)
    return planOf(lengthBytes, { pieces }, parts)
  }
  const whole = yield* readContent(tx, stored, { from: 0, to: lengthBytes })
  return planOf(lengthBytes, whole, [{ lengthBytes }])
}

function planOf(
  lengthBytes: number,
  source: BlobBytes,
  parts: readonly ResealedPart[],
): ResealPlan {
  const runBytes = parts.reduce((sum, part) => sum + part.lengthBytes, 0)
  return { source, runBytes, lengthBytes, parts }
}

/** The content of the copy, under a new id. */
export function* putResealed(
  tx: Tx,
  key: Key,
  newId: number,
  { lengthBytes, parts, pieces }: Resealed,
): Step<BlobContent> {
  const cut = cutRun(pieces, parts)
  const [first] = parts
  if (first?.blockId !== undefined) {
    const blocks = parts.map((part, at) => {
      return { id: part.blockId ?? '', lengthBytes: part.lengthBytes, pieces: cut[at] ?? [] }
    })
    return yield* putBlocks(tx, key, newId, blocks)
  }
  if (parts.length === 1 && first?.offset === undefined) {
    const content = { id: newId, pieces: cut.flat() }
    yield* addReferences(tx, key, content)
    return { lengthBytes, content }
  }
  for (const [at, part] of parts.entries()) {
    yield* putMapRecord(tx, newId, part.offset ?? 0, cut[at] ?? [])
  }
  return { lengthBytes, map: newId }
}

function cutRun(run: readonly Piece[], parts: readonly ResealedPart[]): Piece[][] {
  const [whole] = run
  let at = 0
  return parts.map(({ lengthBytes }) => {
    if (lengthBytes === 0) return []
    assert(whole !== undefined, 'a run that is not empty has a piece')
    const piece = cutPiece(whole, at, lengthBytes)
    at += lengthBytes
    return [piece]
  })
}
