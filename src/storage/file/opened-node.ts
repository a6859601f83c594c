// From an open to what it is an open of: the node is found by its id, whatever its name is now, and in the
// snapshot that the open looks at.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { StorageError } from '../error.ts'
import { openKey } from './keys.ts'
import { getNode, type Existing } from './node.ts'
import type { FileOpen } from './open.ts'
import { getShare, type ShareAddress } from './share.ts'

/** The open as its record is now: a rename changes its path. */
export type OpenedNode = Existing & { readonly open: FileOpen }

export function* requireOpened(
  tx: ReadTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  handleOpen: FileOpen,
): Step<OpenedNode> {
  const { shareId, nodeId, openId, snapshot } = handleOpen
  const share = yield* getShare(tx, address)
  if (share?.id !== shareId) throw new StorageError('ShareNotFound')
  const value = yield* tx.get(openKey(shareId, nodeId, openId))
  const open = value === undefined ? handleOpen : decodeRecord<FileOpen>(value)
  const { lastSnapshot } = share
  const view = { shareId, lastSnapshot, ...(snapshot !== undefined && { snapshot }) }
  const node = yield* getNode(tx, view, nodeId)
  if (node === undefined) throw new StorageError('ResourceNotFound')
  return { share, view, directoryId: open.parentId, name: lastName(open.path), node, open }
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
