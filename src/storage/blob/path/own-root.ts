// The root directory of a hierarchical container belongs to the user who creates the container.
import type { Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { rootAccess } from '../access/acl-change.ts'
import { blobKey } from '../keys.ts'
import { storedAccess } from './access.ts'
import { newDirectory } from './link.ts'
import { rootIdOf, type PathState } from './path-state.ts'
import type { Moment } from '../../../node/moment.ts'

export function giveRoot(
  tx: Tx,
  { id, spaceId }: { readonly id: number; readonly spaceId: number },
  owner: string,
  moment: Moment,
): void {
  const place = { id: rootIdOf(id), parentId: '', name: '', isDirectory: true } as const
  const path: PathState = { ...place, ...storedAccess(rootAccess(owner), true) }
  tx.put(blobKey(spaceId, path.id), encodeRecord(newDirectory(path, moment)))
}
