// Entities of another server, with their Timestamps.
import type { Step, Tx } from '../../kv/kv.ts'
import { checkEntityKeys, checkProperties } from './entity-limit.ts'
import { encodeState, type Entity } from './entity-record.ts'
import { entityKey } from './keys.ts'
import { requireTable, type TableAddress } from './table.ts'

/** Throws what Insert Entity would fail with. */
export function checkImportedEntity(entity: Entity): void {
  checkEntityKeys(entity)
  checkProperties(entity, entity.properties)
}

export function* importEntities(
  tx: Tx,
  address: TableAddress,
  entities: readonly Entity[],
): Step<void> {
  const { id } = yield* requireTable(tx, address)
  for (const entity of entities) {
    tx.put(entityKey(id, entity.partitionKey, entity.rowKey), encodeState(entity))
  }
}
