// Requests for one entity.
import { ask, isCode, type Area } from '../storage.ts'
import { entityOf, entityPath, jsonOf, type Entity, type Property } from './entity.ts'

const JSON_TYPES = {
  'Content-Type': 'application/json',
  Accept: 'application/json;odata=fullmetadata',
}

export async function insert(
  area: Area,
  table: string,
  keys: Pick<Entity, 'partitionKey' | 'rowKey'>,
  properties: readonly Property[],
) {
  const body = JSON.stringify({
    PartitionKey: keys.partitionKey,
    RowKey: keys.rowKey,
    ...jsonOf(properties),
  })
  await ask(area, {
    method: 'POST',
    path: [table],
    headers: { ...JSON_TYPES, Prefer: 'return-no-content' },
    body,
  })
}

/** `etag`: the state that it replaces; * for any. */
export async function replace(
  area: Area,
  table: string,
  entity: Entity,
  properties: readonly Property[],
  etag: string,
) {
  const body = JSON.stringify({
    PartitionKey: entity.partitionKey,
    RowKey: entity.rowKey,
    ...jsonOf(properties),
  })
  await ask(area, {
    method: 'PUT',
    path: [entityPath(table, entity)],
    headers: { ...JSON_TYPES, 'If-Match': etag },
    body,
  })
}

/** undefined: it is not there any more. */
export async function current(
  area: Area,
  table: string,
  entity: Entity,
): Promise<Entity | undefined> {
  try {
    const answer = await ask(area, { path: [entityPath(table, entity)], headers: JSON_TYPES })
    return entityOf(await answer.json())
  } catch (error) {
    if (isCode(error, 'ResourceNotFound')) return undefined
    throw error
  }
}

export async function remove(area: Area, table: string, entity: Entity): Promise<void> {
  const headers = { ...JSON_TYPES, 'If-Match': entity.etag }
  await ask(area, { method: 'DELETE', path: [entityPath(table, entity)], headers })
}
