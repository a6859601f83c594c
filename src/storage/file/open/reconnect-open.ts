// Reconnecting to an open: its record, its node and its cache.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { getNode, type FileNode } from '../tree/node.ts'
import { getOpen, holdersOf, putOpen, type CacheHolder, type FileOpen } from './open.ts'

/** Returns the open before the change; undefined if it has been closed. */
export function* changeOpen(
  tx: Tx,
  open: FileOpen,
  change: Partial<FileOpen>,
): Step<FileOpen | undefined> {
  const current = yield* getOpen(tx, open)
  if (current !== undefined) putOpen(tx, { ...current, ...change })
  return current
}

type NodeAndCache = {
  readonly node: FileNode | undefined
  readonly cache: CacheHolder | undefined
}

export function* nodeAndCache(
  tx: ReadTx,
  { shareId, nodeId, snapshot, holder }: FileOpen,
): Step<NodeAndCache> {
  const view = { shareId, lastSnapshot: 0, ...(snapshot !== undefined && { snapshot }) }
  const node = yield* getNode(tx, view, nodeId)
  const holders = yield* holdersOf(tx, shareId, nodeId)
  return { node, cache: holders.find((each) => each.holder === holder) }
}
