// FileDispositionInformation and …Ex ([MS-FSA] 2.1.5.15.3): marks a file for deletion when its last handle is closed,
// or removes the mark.
import { requireOpened } from './opened-node.ts'
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { READ_ONLY } from '../tree/attributes.ts'
import { isEmptyDirectory, ROOT_ID, type FileNode } from '../tree/node.ts'
import { putOpen, setDeletePending, type FileOpen, type FileTx } from './open.ts'
import { isOrphan } from '../tree/orphan.ts'
import { breakForRename, type MustWait } from '../cache/smb-cache.ts'
import { SmbRefused } from './smb-refused.ts'
import type { ShareAddress } from '../share/share.ts'

export type Disposal = {
  readonly deletePending: boolean
  /** FILE_DISPOSITION_POSIX_SEMANTICS: the name is removed with this handle, not with the last. */
  readonly posixSemantics: boolean
  /** FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE */
  readonly ignoreReadOnly: boolean
}

/** Breaks cached handles first; they would keep the file alive. */
export function* disposeOfOpened(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  handleOpen: FileOpen,
  { deletePending, posixSemantics, ignoreReadOnly }: Disposal,
): Step<MustWait | { readonly kind: 'set' }> {
  const { view, node, open } = yield* requireOpened(tx, address, handleOpen)
  if (!deletePending) {
    // Also resets the delete-on-close of the open, as Samba does.
    if (open.deleteOnClose === true || open.isPosixDelete === true) {
      putOpen(tx, { ...open, deleteOnClose: false, isPosixDelete: false })
    }
    if (yield* isOrphan(tx, view.shareId, node.nodeId)) throw new SmbRefused('ACCESS_DENIED')
    setDeletePending(tx, open, false)
    return { kind: 'set' }
  }
  checkDeletable(node, ignoreReadOnly)
  if (node.kind === 'directory' && !(yield* isEmptyDirectory(tx, view.shareId, node.nodeId))) {
    throw new StorageError('DirectoryNotEmpty')
  }
  const at = { shareId: view.shareId, nodeId: node.nodeId }
  if (yield* breakForRename(tx, at, open.holder)) return { kind: 'wait', ...at }
  if (posixSemantics) putOpen(tx, { ...open, isPosixDelete: true })
  setDeletePending(tx, open, true)
  return { kind: 'set' }
}

/** The root and read-only nodes can't be deleted. */
export function checkDeletable(
  { nodeId, attributes }: Pick<FileNode, 'nodeId' | 'attributes'>,
  ignoreReadOnly = false,
): void {
  if (nodeId === ROOT_ID) throw new SmbRefused('CANNOT_DELETE')
  if (!ignoreReadOnly && (attributes & READ_ONLY) !== 0) throw new SmbRefused('CANNOT_DELETE')
}
