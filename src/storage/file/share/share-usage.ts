// The bytes that only a share's snapshots hold: overwritten or deleted since. The service calls its number approximate,
// and so is this one: it reads a bounded number of past states.
import { decodeKey } from '../../../kv/key.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { fileNodeKey, pastNodesRange } from '../keys.ts'
import type { FileNode } from '../tree/node.ts'

const STATE_COUNT_MAX = 10_000

export function* snapshotUsageBytes(tx: ReadTx, shareId: number): Step<number> {
  const range = { ...pastNodesRange(shareId), countMax: STATE_COUNT_MAX }
  const states = yield* tx.scanFields(range)
  const seen = new Set<number>()
  let bytes = 0
  for (const { key, value } of states) {
    const nodeId = Number(decodeKey(key)[2])
    const node = decodeRecord<FileNode>(value)
    if (node.map === undefined || seen.has(node.map)) continue
    seen.add(node.map)
    const present = yield* tx.get(fileNodeKey(shareId, nodeId))
    const isPresent = present !== undefined && decodeRecord<FileNode>(present).map === node.map
    if (!isPresent) bytes += node.lengthBytes
  }
  return bytes
}
