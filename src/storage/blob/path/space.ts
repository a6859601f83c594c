// The space of an account: its hierarchical containers share one, and each is a root directory in it.
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { deletedContainerKey, deletedTreeKey, pathSpaceKey } from '../keys.ts'
import { treeOf } from './locate.ts'

export type PathSpace = { readonly id: number }

/** The space has the id of the account's first hierarchical container. */
export function* requireSpace(tx: Tx, account: string, containerId: number): Step<number> {
  const key = pathSpaceKey(account)
  const existing = yield* tx.getFields<PathSpace>(key)
  if (existing !== undefined) return existing.id
  tx.put(key, encodeRecord({ id: containerId } satisfies PathSpace))
  return containerId
}

/** The container is deleted for good: the sweep removes what is in it. */
export function markContainerDeleted(
  tx: Tx,
  container: { readonly id: number; readonly spaceId?: number },
): void {
  const tree = treeOf(container)
  const mark =
    tree === undefined
      ? deletedContainerKey(container.id)
      : deletedTreeKey(tree.spaceId, tree.rootId)
  tx.put(mark, encodeRecord({}))
}
