// An open that a client comes back for, and what it is an open of.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { getNode, type FileNode } from '../tree/node.ts'
import { getOpen, holdersOf, putOpen, type CacheHolder, type FileOpen } from './open.ts'

/** The open as it was; undefined when it has been closed. */
export function* changeOpen(
  tx: Tx,
  open: FileOpen,
  change: Partial<FileOpen>,
): Step<FileOpen | undefined> {
  const known = yield* getOpen(tx, open)
  if (known !== undefined) putOpen(tx, { ...known, ...change })
  return known
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
