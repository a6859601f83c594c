// Hard links: additional names of a file, on NFS shares.
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceChange } from './change-event.ts'
import { addEntry } from './directory-change.ts'
import { saveNode, touched, type FileNode, type Existing, type Located } from './node.ts'
import type { FileTx } from '../open/open.ts'
import type { Share } from '../share/share.ts'

/** "Azure Files scalability and performance targets" */
const LINK_COUNT_MAX = 178

export function checkNfs({ enabledProtocol }: Pick<Share, 'enabledProtocol'>): void {
  if (enabledProtocol === 'NFS') return
  const message = 'The operation is supported on shares with the NFS protocol only.'
  throw new StorageError('InvalidInput', {}, message)
}

/** The name must be free. */
export function* createHardLink(
  tx: FileTx,
  at: Located,
  { node, view }: Existing,
  moment: Moment,
): Step<FileNode> {
  if (at.name === '' || at.entry !== undefined) throw new StorageError('ResourceAlreadyExists')
  if (node.kind !== 'file') throw new StorageError('ResourceTypeMismatch')
  const linkCount = (node.linkCount ?? 1) + 1
  if (linkCount > LINK_COUNT_MAX) throw new StorageError('OutOfRangeInput')
  const after = saveNode(tx, view, node, { ...node, ...touched(node, moment), linkCount })
  const { nodeId, kind } = node
  yield* addEntry(tx, at, { nodeId, kind, name: at.name }, moment)
  announceChange(tx, at, node, 'added')
  return after
}
