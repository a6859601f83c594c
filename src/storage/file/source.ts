// A file as the source of a copy, to a file or to a blob. SMB clients that deny reading are in the way of a copy
// as they are of Get File.
import type { ReadTx, Step } from '../../kv/kv.ts'
import type { StoredBlob } from '../blob/blob.ts'
import { NO_TYPE, type ContentHeaders } from '../content-headers.ts'
import { checkNoPendingCopy } from './rest-guard.ts'
import { locate, requireNode, type Existing, type FileAddress } from './node.ts'
import { msOfFileTime } from './file-time.ts'
import { checkOpens } from './rest-access.ts'

export function* requireSourceFile(tx: ReadTx, address: FileAddress): Step<Existing> {
  const file = requireNode(yield* locate(tx, address), 'file')
  if (address.snapshot !== undefined) return file
  yield* checkOpens(tx, file.share.id, file.node, 'Get File')
  checkNoPendingCopy(file.node)
  return file
}

/** No map has this id, so it reads as zeros. */
const NO_MAP = 0
const NO_BYTES = new Uint8Array(0)

/** The blob that a copy makes of it: a block blob (Copy Blob, remarks), whose bytes are found by offset. */
export function* findFileAsBlob(tx: ReadTx, address: FileAddress): Step<StoredBlob> {
  const { node } = yield* requireSourceFile(tx, address)
  const { lengthBytes, map = NO_MAP, stamp, modifiedMs, headers = {}, metadata } = node
  const createdMs = msOfFileTime(node.creationTime)
  const times = { stamp, modifiedMs, createdMs }
  return {
    blob: { type: 'BlockBlob', lengthBytes, map, ...times, headers: typed(headers), metadata },
    bytes: NO_BYTES,
  }
}

/** A blob always has a type. */
function typed({ contentType, ...rest }: ContentHeaders): ContentHeaders {
  return contentType === undefined || contentType === NO_TYPE ? rest : { contentType, ...rest }
}
