// Extents in PostgreSQL, in the database that also has the records: one thing to run and to back up. Each extent is a table
// (docs/decisions/0021-bytes-of-many-nodes.md).
import { orUnavailable } from '../kv/engine/postgres/or-unavailable.ts'
import { sqlState, type Connection, type StatementCount } from '../postgres/client.ts'
import { Pool } from '../postgres/pool.ts'
import type { ConnectionSettings } from '../postgres/settings.ts'
import type { SweptExtentStore } from './extent.ts'
import { openExtents, type ExtentOptions } from './extents.ts'
import { copiedBigint, rowsOf, SpanFill } from './postgres/row.ts'
import { RowWriter } from './postgres/row-writer.ts'
import {
  copyEndOut,
  copyRowsOut,
  createExtentTable,
  dropTable,
  extentOfTable,
  LIST_TABLES,
} from './postgres/table.ts'
import type { Appender, ReadSpan, Volume } from './volume.ts'

export type PostgresExtentOptions = ExtentOptions & {
  /** The database of the kv: its engine has prepared the schema. */
  readonly settings: ConnectionSettings
}

/** Larger than a file: 4,000 tables are enough for 1 TiB. */
const EXTENT_BYTES = 256 * 1_024 * 1_024
const WRITE_CONNECTIONS = 2
const READ_CONNECTIONS = 4
const UNDEFINED_TABLE = '42P01'

export async function openPostgresExtents(
  options: PostgresExtentOptions,
): Promise<SweptExtentStore> {
  const volume = postgresVolume(options.settings)
  try {
    return await openExtents(volume, { extentBytes: EXTENT_BYTES, ...options })
  } catch (error) {
    await volume.close()
    throw error
  }
}

export function postgresVolume(settings: ConnectionSettings): Volume {
  return new PostgresVolume(settings)
}

class PostgresVolume implements Volume {
  readonly #writes: Pool
  readonly #reads: Pool
  readonly #writer: RowWriter

  constructor(settings: ConnectionSettings) {
    const count: StatementCount = { statements: 0 }
    this.#writes = new Pool(settings, WRITE_CONNECTIONS, count)
    this.#reads = new Pool(settings, READ_CONNECTIONS, count)
    this.#writer = new RowWriter(this.#writes, WRITE_CONNECTIONS)
  }

  async create(extent: number): Promise<Appender> {
    await this.#run((connection, deadlineMs) =>
      connection.script(createExtentTable(extent), deadlineMs),
    )
    const write = (chunks: readonly Uint8Array[], position: number) =>
      orUnavailable(this.#writer.write(extent, rowsOf(position, chunks)))
    return {
      place: (reservedBytes, lengthBytes) => {
        return { offset: reservedBytes, end: reservedBytes + lengthBytes }
      },
      region: (offset, lengthBytes) => ({ offset, lengthBytes, write }),
      // Each write is durable when it resolves.
      sync: async () => {},
      close: async () => {},
    }
  }

  reader(): ReadSpan {
    return async (span, buffer) => {
      let fill = new SpanFill(span, buffer)
      const isThere = await this.#runOn((connection, deadlineMs) => {
        fill = new SpanFill(span, buffer)
        return connection.copyTo(copyRowsOut(span), (row) => fill.add(row), deadlineMs)
      })
      return isThere ? fill.filledBytes : undefined
    }
  }

  async remove(extents: readonly number[]): Promise<void> {
    for (const extent of extents) {
      await this.#run((connection, deadlineMs) => connection.script(dropTable(extent), deadlineMs))
    }
  }

  async list(): Promise<readonly number[]> {
    const rows = await orUnavailable(this.#reads.run(LIST_TABLES, []))
    return rows.map(([name]) => extentOfTable(name ?? '')).filter((id) => id !== undefined)
  }

  async storedBytes(extent: number): Promise<number | undefined> {
    let endBytes = 0
    const isThere = await this.#runOn((connection, deadlineMs) =>
      connection.copyTo(copyEndOut(extent), (row) => (endBytes = copiedBigint(row)), deadlineMs),
    )
    return isThere ? endBytes : undefined
  }

  async close(): Promise<void> {
    await Promise.all([this.#writes.close(), this.#reads.close()])
  }

  /** Runs on the table of an extent. False if it is missing. */
  async #runOn(work: Work): Promise<boolean> {
    try {
      await this.#run(work)
      return true
    } catch (error) {
      if (sqlState(error) === UNDEFINED_TABLE) return false
      throw error
    }
  }

  /** Repeats the work if its connection was lost. */
  async #run(work: Work): Promise<void> {
    this.#reads.put(await orUnavailable(this.#reads.takeAfter(work)))
  }
}

type Work = (connection: Connection, deadlineMs: number) => Promise<void>
