// Create and Get Permission: security descriptors in a share's permission store.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { requirePermission, storePermission } from '../security/permission.ts'
import { requireShare, type ShareAddress } from './share.ts'

export function* addPermission(
  tx: Tx,
  address: ShareAddress,
  descriptor: Uint8Array,
): Step<string> {
  const { id } = yield* requireShare(tx, address)
  return yield* storePermission(tx, id, descriptor)
}

export function* readPermission(tx: ReadTx, address: ShareAddress, key: string): Step<Uint8Array> {
  const { id } = yield* requireShare(tx, address)
  return yield* requirePermission(tx, id, key)
}
