// READ and WRITE of SMB clients as transactions on an open file, subject to other clients' locks.
import { readShort } from '../../../extent/content/small.ts'
import type { Hole, Piece } from '../../../extent/content/slice.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import type { FileNode } from '../tree/node.ts'
import type { FileOpen, FileTx } from '../open/open.ts'
import { requireOpened } from '../open/opened-node.ts'
import { FILE_BYTES_MAX, readRange, writeRange, type RangeChange } from './range.ts'
import type { FrozenTimes } from '../tree/set-basic.ts'
import type { ShareAddress } from '../share/share.ts'
import { breakForWrite } from '../cache/smb-cache.ts'
import { checkLocks } from '../open/smb-lock.ts'

/** An open and its share. */
export type OpenedAt = {
  readonly address: Pick<ShareAddress, 'account' | 'share'>
  readonly open: FileOpen
}

/** The bytes themselves, or the pieces to read them from. */
export type OpenedBytes =
  | { readonly bytes: Uint8Array }
  | { readonly pieces: readonly (Piece | Hole)[]; readonly lengthBytes: number }

/** The part of the range that is inside the file; undefined if the range starts at or after the end. */
export function* readOpened(
  tx: ReadTx,
  { address, open }: OpenedAt,
  { offset, lengthBytes }: { readonly offset: number; readonly lengthBytes: number },
): Step<OpenedBytes | undefined> {
  const { node } = yield* requireOpened(tx, address, open)
  // An empty read succeeds even on locked bytes.
  if (lengthBytes === 0) return { bytes: NO_BYTES }
  yield* checkLocks(tx, open, { from: offset, to: offset + lengthBytes }, 'read')
  const range = { from: offset, to: Math.min(offset + lengthBytes, node.lengthBytes) }
  if (range.from >= range.to) return undefined
  const pieces = yield* readRange(tx, node, range)
  const length = range.to - range.from
  const bytes = yield* readShort(tx, pieces, length)
  return bytes === undefined ? { pieces, lengthBytes: length } : { bytes }
}

const NO_BYTES = new Uint8Array(0)

export type SmbWrite = {
  /** 'end': append at the current end of the file. */
  readonly offset: number | 'end'
  readonly lengthBytes: number
  readonly frozen: FrozenTimes
}

/** Rejects a long write that is bound to fail before its bytes are stored. */
export function* checkWriteOpened(
  tx: ReadTx,
  { address, open }: OpenedAt,
  { offset, lengthBytes }: SmbWrite,
): Step<void> {
  const { node } = yield* requireOpened(tx, address, open)
  const from = offset === 'end' ? node.lengthBytes : offset
  yield* checkWritten(tx, open, { from, to: from + lengthBytes })
}

export function* writeOpened(
  tx: FileTx,
  { address, open }: OpenedAt,
  { offset, frozen, lengthBytes }: SmbWrite,
  pieces: readonly Piece[],
  { moment, newId }: { readonly moment: Moment; readonly newId: number },
): Step<{ readonly before: FileNode; readonly after: FileNode }> {
  const file = yield* requireOpened(tx, address, open)
  const from = offset === 'end' ? file.node.lengthBytes : offset
  yield* checkWritten(tx, open, { from, to: from + lengthBytes })
  yield* breakForWrite(tx, open, file.open.holder)
  const part = { offset: from, pieces }
  const change = { moment, newId, ...lastWriteOf(frozen), grow: true }
  return { before: file.node, after: yield* writeRange(tx, file, part, change) }
}

export function lastWriteOf(frozen: FrozenTimes): Pick<RangeChange, 'lastWrite' | 'change'> {
  return {
    lastWrite: frozen.lastWrite === true ? 'preserve' : 'now',
    change: frozen.change === true ? 'preserve' : 'now',
  }
}

function* checkWritten(
  tx: ReadTx,
  open: FileOpen,
  range: { readonly from: number; readonly to: number },
): Step<void> {
  yield* checkLocks(tx, open, range, 'write')
  if (range.to > FILE_BYTES_MAX) throw new StorageError('ShareSizeLimitReached')
}
