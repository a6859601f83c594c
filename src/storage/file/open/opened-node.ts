// Finds the node of an open: by its id, whatever its current name is, and in the snapshot of the open.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { openKey } from '../keys.ts'
import { getNode, type Existing } from '../tree/node.ts'
import { isDeletePending, type FileOpen } from './open.ts'
import { getShare, type ShareAddress } from '../share/share.ts'

/** `open` is the current record: a rename changes its path. */
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

/** The same, and whether the node is marked for deletion. */
export function* requireOpenedState(
  tx: ReadTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  handleOpen: FileOpen,
): Step<OpenedNode & { readonly deletePending: boolean }> {
  const opened = yield* requireOpened(tx, address, handleOpen)
  const deletePending = yield* isDeletePending(tx, opened.view.shareId, opened.node.nodeId)
  return { ...opened, deletePending }
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
