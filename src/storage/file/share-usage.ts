// What a share's snapshots hold beyond the share itself: bytes that were overwritten or deleted since. The
// service calls its own number approximate, and so is this: it looks at a bounded number of former states.
import { decodeKey } from '../../kv/key.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { nodeKey, pastNodesRange } from './keys.ts'
import type { FileNode } from './node.ts'

const STATE_COUNT_MAX = 10_000

export function* snapshotUsageBytes(tx: ReadTx, shareId: number): Step<number> {
  const states = yield* tx.scanWith(
    { ...pastNodesRange(shareId), countMax: STATE_COUNT_MAX },
    (key, value) => ({
      nodeId: Number(decodeKey(key)[2]),
      node: decodeRecord<FileNode>(value.bytes()),
    }),
  )
  const seen = new Set<number>()
  let bytes = 0
  for (const { nodeId, node } of states) {
    if (node.map === undefined || seen.has(node.map)) continue
    seen.add(node.map)
    const present = yield* tx.get(nodeKey(shareId, nodeId))
    const isPresent = present !== undefined && decodeRecord<FileNode>(present).map === node.map
    if (!isPresent) bytes += node.lengthBytes
  }
  return bytes
}
