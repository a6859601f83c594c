// Events for clients that watch a directory (SMB's CHANGE_NOTIFY).
import type { FileNode, Located } from './node.ts'
import type { FileTx } from '../open/open.ts'

/** FILE_NOTIFY_CHANGE_* ([MS-SMB2] 2.2.35) */
export const NOTIFY = {
  fileName: 0x1,
  directoryName: 0x2,
  attributes: 0x4,
  size: 0x8,
  lastWrite: 0x10,
  lastAccess: 0x20,
  creation: 0x40,
  security: 0x100,
} as const

type Spot = Pick<Located, 'directoryId' | 'name' | 'view'>
type Kind = Pick<FileNode, 'kind'>

export function nameFilter({ kind }: Kind): number {
  return kind === 'directory' ? NOTIFY.directoryName : NOTIFY.fileName
}

export function announceChange(
  tx: FileTx,
  { view, directoryId, name }: Spot,
  node: Kind,
  action: 'added' | 'removed' | 'modified',
  filter: number = nameFilter(node),
): void {
  const isDirectory = node.kind === 'directory'
  const { shareId } = view
  tx.announce({ kind: 'change', shareId, directoryId, name, action, isDirectory, filter })
}

export function announceRename(
  tx: FileTx,
  from: Spot,
  { view, directoryId, name }: Spot,
  node: Kind,
): void {
  tx.announce({
    kind: 'change',
    shareId: view.shareId,
    directoryId,
    name,
    action: 'renamed',
    from: { directoryId: from.directoryId, name: from.name },
    isDirectory: node.kind === 'directory',
    filter: nameFilter(node),
  })
}
