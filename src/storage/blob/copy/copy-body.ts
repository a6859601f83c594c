// Copy Blob From URL with a source elsewhere: its bytes are in extents by now.
import { addReferences } from '../../../extent/content/reference.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { Step, Tx } from '../../../kv/kv.ts'
import type { CopyState } from '../../shared/copy-state.ts'
import type { Moment } from '../../../node/moment.ts'
import type { BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import { checkCopyTarget } from './copy.ts'
import { checkEncryptedFor, checkPutBlob, replaceBlob, type PutBlob } from '../put.ts'

export type CopiedBody = {
  readonly id: number
  readonly lengthBytes: number
  readonly pieces: readonly Piece[]
}

export function* storeCopied(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  { id, lengthBytes, pieces }: CopiedBody,
  state: Pick<CopyState, 'id' | 'source'>,
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  checkCopyTarget(target, 'BlockBlob')
  checkEncryptedFor(target, put)
  yield* addReferences(tx, target.key, { id, pieces })
  const copy: CopyState = {
    ...state,
    status: 'success',
    copiedBytes: lengthBytes,
    totalBytes: lengthBytes,
    completedMs: moment.nowMs,
  }
  const content = { lengthBytes, content: { id, pieces } }
  return yield* replaceBlob(tx, address, target, put, { type: 'BlockBlob', content, copy }, moment)
}
