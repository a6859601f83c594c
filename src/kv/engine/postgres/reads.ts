// Reads, on connections of their own: one statement for everything wanted at the moment.
import type { Connection, StatementCount } from '../../../postgres/client.ts'
import { callDeadlineMs, Pool } from '../../../postgres/pool.ts'
import type { ConnectionSettings } from '../../../postgres/settings.ts'
import type { Found, Snapshot, Wanted } from '../engine.ts'
import { orUnavailable } from './or-unavailable.ts'
import { encodeRead, type ReadResult } from './read.ts'
import { requireSchema } from './schema.ts'

/** Read statements at a time: what arrives meanwhile joins the next one, so more would only make them smaller. */
const READ_CONNECTIONS = 2
/** Snapshots at a time; more have to wait. */
const SNAPSHOT_CONNECTIONS = 4

/** Gets the database's time with every read. `sentMs` and `receivedMs` are on the clock of `performance.now()`. */
export type OnTime = (databaseMs: number, sentMs: number, receivedMs: number) => void

const NOTHING: Wanted & Found = { keys: [], ranges: [] }

/** Reads of one process: statements, and snapshots that last longer. */
export class Reads {
  readonly #pool: Pool
  readonly #snapshots: Pool
  readonly #onTime: OnTime | undefined
  #time = { databaseMs: 0, receivedMs: 0 }

  constructor(settings: ConnectionSettings, count: StatementCount, onTime: OnTime | undefined) {
    this.#pool = new Pool(settings, READ_CONNECTIONS, count)
    this.#snapshots = new Pool(settings, SNAPSHOT_CONNECTIONS, count)
    this.#onTime = onTime
  }

  async read(wanted: Wanted): Promise<Found> {
    return isNothing(wanted) ? NOTHING : this.#read(wanted)
  }

  async readTime(): Promise<void> {
    await this.#read(NOTHING)
  }

  /** Throws NoStore if the database has none. */
  async requireSchema(): Promise<void> {
    this.#pool.put(await this.#pool.takeAfter(requireSchema))
  }

  /** The commits of each writer so far: changes with every commit. */
  async readWriters(): Promise<string> {
    const [row] = await this.#pool.run(READ_WRITERS, [])
    return row?.[0] ?? ''
  }

  async readSize(): Promise<number> {
    const [row] = await this.#pool.run(READ_SIZE, [])
    return Number(row?.[0])
  }

  /** The database's time, at most: it was read some time before it arrived here. */
  databaseMs(): number {
    return this.#time.databaseMs + performance.now() - this.#time.receivedMs
  }

  async snapshot(): Promise<Snapshot> {
    const connection = await this.#snapshots.takeAfter((each, deadlineMs) =>
      each.script(BEGIN_SNAPSHOT, deadlineMs),
    )
    return {
      read: async (wanted) => {
        if (isNothing(wanted)) return NOTHING
        const read = encodeRead(wanted)
        const sentMs = performance.now()
        const running = connection.run(read.statement, read.parameters, callDeadlineMs())
        const rows = await orUnavailable(running)
        return this.#received(read.result(rows), sentMs)
      },
      release: () => void this.#release(connection),
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#snapshots.close()])
  }

  async #read(wanted: Wanted): Promise<Found> {
    const read = encodeRead(wanted)
    const sentMs = performance.now()
    const rows = await this.#pool.run(read.statement, read.parameters)
    return this.#received(read.result(rows), sentMs)
  }

  #received({ found, databaseMs }: ReadResult, sentMs: number): Found {
    const receivedMs = performance.now()
    this.#time = { databaseMs, receivedMs }
    this.#onTime?.(databaseMs, sentMs, receivedMs)
    return found
  }

  async #release(connection: Connection): Promise<void> {
    await connection.script('COMMIT', callDeadlineMs()).catch(() => connection.destroy())
    this.#snapshots.put(connection)
  }
}

// The first statement takes the snapshot, not BEGIN.
const BEGIN_SNAPSHOT =
  'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SELECT pg_current_snapshot()'

const READ_WRITERS = {
  name: 'read_writers',
  text: `SELECT string_agg(number || ':' || call, ' ' ORDER BY number) FROM lazuli.writer`,
}

const READ_SIZE = { name: 'read_size', text: `SELECT pg_total_relation_size('lazuli.kv')` }

function isNothing({ keys, ranges }: Wanted): boolean {
  return keys.length + ranges.length === 0
}
