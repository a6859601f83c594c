// Removes containers with all they have, whatever leases and policies say, also deleted ones that could be restored. As
// with Delete Container, only the names go at once; the sweep removes the blobs.
import { decodeKey } from '../../../kv/key.ts'
import type { Entry, Kv, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { removeRange } from '../../shared/remove-range.ts'
import { containersRange, dueKey, pastContainersRange } from '../keys.ts'
import { markContainerDeleted } from '../path/space.ts'
import type { Container, DeletedContainer } from './container.ts'

/** `names`: the account and the container; without them, those of all accounts, or all of the account. */
export async function resetContainers(kv: Kv, ...names: readonly string[]): Promise<number> {
  const count = await removeRange(kv, containersRange(...names), dropBlobs)
  return count + (await removeRange(kv, pastContainersRange(...names), dropPast))
}

function* dropBlobs(tx: Tx, { value }: Entry): Step<void> {
  markContainerDeleted(tx, decodeRecord<Container>(value))
}

function* dropPast(tx: Tx, { key, value }: Entry): Step<void> {
  const container = decodeRecord<DeletedContainer>(value)
  const { id, deleted } = container
  tx.delete(dueKey(deleted.untilMs, 'container', id, String(decodeKey(key)[2])))
  markContainerDeleted(tx, container)
}
