// A file as the source of a copy to a file or a blob. As with Get File, SMB clients that deny reading prevent it.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import type { SourceState } from '../../shared/copy/copy-source.ts'
import { checkNoPendingFileCopy } from '../open/rest-guard.ts'
import { locate, requireNode, type Existing, type FileAddress } from '../tree/node.ts'
import { msOfFileTime } from '../tree/file-time.ts'
import { checkOpens } from '../open/rest-access.ts'

export function* requireSourceFile(tx: ReadTx, address: FileAddress): Step<Existing> {
  const file = requireNode(yield* locate(tx, address), 'file')
  if (address.snapshot !== undefined) return file
  yield* checkOpens(tx, file.share.id, file.node, 'Get File')
  checkNoPendingFileCopy(file.node)
  return file
}

/** No map has this id, so it reads as zeros. */
const NO_MAP = 0

/** A file as the source of a copy to a blob. */
export function* findFileState(tx: ReadTx, address: FileAddress): Step<SourceState> {
  const { node } = yield* requireSourceFile(tx, address)
  const { lengthBytes, map = NO_MAP, stamp, modifiedMs, headers = {}, metadata } = node
  const createdMs = msOfFileTime(node.creationTime)
  return { lengthBytes, headers, metadata, createdMs, modifiedMs, stamp, content: { map } }
}
