// Put Range and Clear Range. The checks run before a long body is read, and again in the transaction that stores it.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import {
  locate,
  requireNode,
  type Existing,
  type FileAddress,
  type FileNode,
} from '../tree/node.ts'
import type { FileTx } from '../open/open.ts'
import { clearRange, writeRange } from './range.ts'
import { checkForWrite } from '../open/rest-guard.ts'

export type PutRange = {
  readonly range: ByteRange
  readonly leaseId: string | undefined
  readonly lastWrite: 'now' | 'preserve'
}

/** A range beyond the end of the file is an error: Put Range never extends the file. */
export function* checkPutRange(
  tx: ReadTx | FileTx,
  address: FileAddress,
  { range, leaseId }: PutRange,
  nowMs: number,
): Step<Existing> {
  const found = requireNode(yield* locate(tx, address), 'file')
  const operation = 'Put Range'
  const guard =
    leaseId === undefined
      ? ({ operation, range } as const)
      : ({ operation, range, leaseId } as const)
  const file = yield* checkForWrite(tx, found, guard, nowMs)
  if (range.to > file.node.lengthBytes) throw new StorageError('InvalidRange')
  return file
}

/** Put Range. The bytes are already durable. */
export function* putRange(
  tx: FileTx,
  address: FileAddress,
  put: PutRange & { readonly pieces: readonly Piece[] },
  { moment, newId }: { readonly moment: Moment; readonly newId: number },
): Step<FileNode> {
  const file = yield* checkPutRange(tx, address, put, moment.nowMs)
  const { range, lastWrite, pieces } = put
  const part = { offset: range.from, pieces }
  return yield* writeRange(tx, file, part, { moment, newId, lastWrite, grow: false })
}

/** Put Range with `clear`: the range may be as long as the file. */
export function* putClearedRange(
  tx: FileTx,
  address: FileAddress,
  put: PutRange,
  by: { readonly moment: Moment; readonly newId: number; readonly zerosId: number },
): Step<FileNode> {
  const file = yield* checkPutRange(tx, address, put, by.moment.nowMs)
  return yield* clearRange(tx, file, put.range, { ...by, lastWrite: put.lastWrite })
}
