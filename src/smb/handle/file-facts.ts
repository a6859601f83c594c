// The metadata of a node as SMB reports it.
import { attributeBits } from '../../storage/file/tree/attributes.ts'
import { ROOT_ID, type FileNode } from '../../storage/file/tree/node.ts'
import type { OpenedFile } from '../wire/opened-file.ts'

/** Allocation sizes are multiples of it. */
const CLUSTER_BYTES = 4_096

/** With the allocation that a handle requested, if it exceeds the file's length. */
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

/** Clients take 0, the root's node id, for "none". The root gets the id of the share instead, which no node has. */
export function fileIdOf(shareId: number, { nodeId }: Pick<FileNode, 'nodeId'>): bigint {
  return BigInt(nodeId === ROOT_ID ? shareId : nodeId)
}
