// A node as SMB shows it.
import { attributeBits } from '../../storage/file/tree/attributes.ts'
import { ROOT_ID, type FileNode } from '../../storage/file/tree/node.ts'
import type { OpenedFile } from '../wire/opened-file.ts'

/** Space is given in clusters of this. */
export const CLUSTER_BYTES = 4_096

/** With the space that a handle has asked for, if that is more than the file takes. */
export function fileFactsOf(node: FileNode, allocatedBytes = 0): OpenedFile {
  const usedBytes = Math.max(node.lengthBytes, node.kind === 'file' ? allocatedBytes : 0)
  return {
    creationTime: BigInt(node.creationTime),
    lastAccessTime: BigInt(node.lastAccessTime ?? node.lastWriteTime),
    lastWriteTime: BigInt(node.lastWriteTime),
    changeTime: BigInt(node.changeTime),
    allocationSize: Math.ceil(usedBytes / CLUSTER_BYTES) * CLUSTER_BYTES,
    endOfFile: node.lengthBytes,
    fileAttributes: attributeBits(node),
  }
}

/** The root has no id of its own, and clients take 0 for "none": it has the share's, which no node has. */
export function fileIdOf(shareId: number, { nodeId }: Pick<FileNode, 'nodeId'>): bigint {
  return BigInt(nodeId === ROOT_ID ? shareId : nodeId)
}
