// Imports tables and their entities, with their Timestamps.
import { STAMPS_PER_MS } from '../../node/moment.ts'
import { decodeEntity } from '../../rest/table/payload-decode.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { Entity } from '../../storage/table/entity-record.ts'
import { checkImportedEntity, importEntities } from '../../storage/table/import.ts'
import { decodeAzuriteEntity, decodeTable, type EntityDocument } from './document.ts'
import { readLokiFile } from './loki-file.ts'
import { policiesXml, RefusedRequest, send, unlessRefused, type Importing } from './world.ts'

/** Entities per transaction: up to 1 MiB each. */
const BATCH_COUNT = 50

type Address = { readonly account: string; readonly table: string }

export async function importTables(into: Importing, database: string): Promise<void> {
  /** By the name of the collection with their entities. */
  const tables = new Map<string, Address>()
  for await (const { collection, document } of readLokiFile(database)) {
    if (collection !== '$TABLES_COLLECTION$') continue
    const { account, name } = decodeTable(document)
    if (await putTable(into, document)) tables.set(`${account}$${name}`, { account, table: name })
  }
  let [address, batch]: [Address | undefined, Entity[]] = [undefined, []]
  const flush = async (): Promise<void> => {
    const [to, entities] = [address, batch]
    batch = []
    if (to === undefined || entities.length === 0) return
    await into.kv.write((tx) => importEntities(tx, to, entities))
    into.report.count('entities', entities.length)
  }
  for await (const { collection, document } of readLokiFile(database)) {
    const table = tables.get(collection)
    if (table !== address || batch.length === BATCH_COUNT) await flush()
    address = table
    if (table === undefined) continue
    const entity = decodeAzuriteEntity(document)
    await unlessRefused(into, `entity ${nameOf(table, entity)}`, async () => {
      batch.push(entityOf(entity))
    })
  }
  await flush()
}

async function putTable(into: Importing, document: unknown): Promise<boolean> {
  const { account, name, policies } = decodeTable(document)
  const isThere = await unlessRefused(into, `table ${account}/${name}`, () =>
    send(into, {
      service: 'table',
      account,
      method: 'POST',
      path: ['Tables'],
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json;odata=nometadata',
      },
      body: JSON.stringify({ TableName: name }),
    }),
  )
  if (!isThere) return false
  if (policies.length > 0) {
    const request = { service: 'table', account, method: 'PUT', path: [name] } as const
    await unlessRefused(into, `access policies of table ${account}/${name}`, () =>
      send(into, { ...request, query: { comp: 'acl' }, body: policiesXml(policies) }),
    )
  }
  into.report.count('tables')
  return true
}

function nameOf({ account, table }: Address, { properties }: EntityDocument): string {
  const { PartitionKey, RowKey } = properties
  return `${account}/${table}(${JSON.stringify(PartitionKey)}, ${JSON.stringify(RowKey)})`
}

function entityOf({ properties, timestamp }: EntityDocument): Entity {
  try {
    const plain = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => {
        const isGuid = properties[`${name}@odata.type`] === 'Edm.Guid'
        return [name, isGuid ? guidOf(String(value)) : value]
      }),
    )
    const { partitionKey = '', rowKey = '', ...rest } = decodeEntity(Buffer.from(JSON.stringify(plain))) // prettier-ignore
    const entity = { partitionKey, rowKey, ...rest, stamp: stampOf(timestamp) }
    checkImportedEntity(entity)
    return entity
  } catch (error) {
    if (error instanceof StorageError) throw new RefusedRequest(`${error.code}: ${error.message}`)
    throw error
  }
}

/** Azurite stores the text in base64, so that a search for a string does not find it; early versions did not. */
function guidOf(text: string): string {
  const decoded = Buffer.from(text, 'base64').toString('latin1')
  return /^[0-9a-f-]{36}$/i.test(decoded) ? decoded : text
}

/** Milliseconds as they were, and the rest in the order it was in: a stamp has 1,024 steps for 10,000. */
function stampOf(timestamp: string): number {
  const [, tail = '0'] = /\.\d{3}(\d{1,4})Z$/.exec(timestamp) ?? []
  const steps = Math.floor((Number(tail.padEnd(4, '0')) * STAMPS_PER_MS) / 10_000)
  const timeMs = Date.parse(timestamp)
  if (!Number.isFinite(timeMs)) throw new RefusedRequest(`its Timestamp is ${timestamp}`)
  return Math.floor(timeMs) * STAMPS_PER_MS + steps
}
