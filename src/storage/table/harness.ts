// Fixture for tests of tables below HTTP: a store in memory, one table, a clock that stands still, and the
// operations as the front end calls them.
import assert from 'node:assert/strict'
import { countingReads, TxCounts, recordCounts } from '../../kv/counting.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { StorageError } from '../shared/error.ts'
import { openIds } from '../../node/id.ts'
import { createMoments } from '../../node/moment.ts'
import type { EdmProperties } from './edm.ts'
import { getEntity, writeEntity, type EntityWrite } from './entity.ts'
import { queryEntities, type QueryEntities } from './query.ts'
import { createTable, deleteTable } from './table.ts'
import { writeEntities } from './transaction.ts'

export const TABLE = { account: 'account', table: 'People' }
const NOW_MS = Date.UTC(2026, 10, 15, 19, 46, 33)

export const ENGINES = [
  ['on an engine whose reads don’t wait', { waits: false }],
  ['on an engine whose reads wait', { waits: true }],
] as const

export type TableWorld = Awaited<ReturnType<typeof tableWorld>>

export async function tableWorld(options: { readonly waits?: boolean } = {}) {
  const kv = openMemoryKv(options)
  const newId = await openIds(kv)
  const moment = createMoments(() => NOW_MS, 0)
  const create = async (address = TABLE) => {
    const id = newId()
    return kv.write((tx) => createTable(tx, address, id))
  }
  await create()
  return {
    kv,
    create,
    drop: (address = TABLE) => kv.write((tx) => deleteTable(tx, address)),
    write: (write: EntityWrite) => {
      const taken = moment()
      return kv.write((tx) => writeEntity(tx, TABLE, write, taken))
    },
    writeAll: (writes: readonly EntityWrite[]) => {
      const taken = moment()
      return kv.write((tx) => writeEntities(tx, TABLE, writes, taken))
    },
    get: (partitionKey: string, rowKey: string) => {
      return kv.read((tx) => getEntity(tx, TABLE, { partitionKey, rowKey }))
    },
    query: (query: QueryEntities) => kv.read((tx) => queryEntities(tx, TABLE, query)),
    /** The same, with the number of records that it read. */
    queryCounted: async (query: QueryEntities) => {
      const counts = new TxCounts()
      const page = await kv.read((tx) => {
        // The body may run again.
        counts.reset()
        return queryEntities(countingReads(tx, counts), TABLE, query)
      })
      return { page, readCount: counts.scanned }
    },
    /** The number of records of each kind. */
    counts: () => recordCounts(kv),
  }
}

/** `ok`, or the code of the StorageError. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'ok'
  } catch (error) {
    assert(error instanceof StorageError, String(error))
    return error.code
  }
}

export function text(value: string): EdmProperties {
  return { Text: { type: 'Edm.String', value } }
}

export function int(name: string, value: number): EdmProperties {
  return { [name]: { type: 'Edm.Int32', value } }
}
