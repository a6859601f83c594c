// Copy Blob From URL from another server. The bytes have already been read into extents.
import { addReferences } from '../../../extent/content/reference.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { Step, Tx } from '../../../kv/kv.ts'
import { completedCopy, type CopyState } from '../../shared/copy/copy-state.ts'
import type { Moment } from '../../../node/moment.ts'
import type { BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import { checkCopyTarget } from './copy.ts'
import { checkPutBlob, replaceBlob, requireEncryptedFor, type PutBlob } from '../put.ts'

type CopiedBody = {
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
  yield* requireEncryptedFor(target, put)
  yield* addReferences(tx, target.key, { id, pieces })
  const copy = completedCopy(state, lengthBytes, moment.nowMs)
  const content = { lengthBytes, content: { id, pieces } }
  return yield* replaceBlob(tx, address, target, put, { type: 'BlockBlob', content, copy }, moment)
}
