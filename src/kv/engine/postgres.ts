// PostgreSQL as the engine of any number of nodes. Commits of all nodes go through one lane, a lock in the database, in
// groups: one call of a function each. Reads are one statement for everything wanted at the moment.
import type { Connection, StatementCount } from '../../postgres/client.ts'
import { callDeadlineMs, Pool } from '../../postgres/pool.ts'
import type { ConnectionSettings } from '../../postgres/settings.ts'
import type { Engine, Found, Snapshot, Wanted } from './engine.ts'
import { CommitLane } from './postgres/commit-lane.ts'
import { orUnavailable } from './postgres/or-unavailable.ts'
import { encodeRead, type ReadResult } from './postgres/read.ts'
import { prepareSchema } from './postgres/schema.ts'
import { expelWriter, registerWriter } from './postgres/writer.ts'

/** Read statements at a time: what arrives meanwhile joins the next one, so more would only make them smaller. */
const READ_CONNECTIONS = 2
/** Snapshots at a time; more have to wait. */
const SNAPSHOT_CONNECTIONS = 4
/** One commits; the other one is only for asking after a commit when the first was lost. */
const COMMIT_CONNECTIONS = 2
const SIZE_MS_MAX = 10_000

export type PostgresOptions = {
  /** Called when a commit was refused because others have expelled this engine. */
  readonly onExpelled?: () => void
  /** Gets the database's time with every read. `sentMs` and `receivedMs` are on the clock of `performance.now()`. */
  readonly onTime?: (databaseMs: number, sentMs: number, receivedMs: number) => void
}

export type PostgresEngine = Engine & {
  /** Unique for each time an engine is opened; for the versions of its runner. */
  readonly number: number
  /** Below `SLOT_COUNT`, and unique among the engines that are open at the same time. */
  readonly slot: number
  /** Refuses all further commits of another engine, by its number. */
  expel(number: number): Promise<void>
  /** Statements so far. */
  statementCount(): number
}

export async function openPostgresEngine(
  settings: ConnectionSettings,
  options: PostgresOptions = {},
): Promise<PostgresEngine> {
  const count: StatementCount = { statements: 0 }
  const commits = new Pool(settings, COMMIT_CONNECTIONS, count)
  const reads = new Reads(settings, count, options)
  const close = async (): Promise<void> => {
    await Promise.all([commits.close(), reads.close()])
  }
  try {
    const connection = await commits.takeAfter(prepareSchema)
    commits.put(connection)
    await reads.readTime()
    const { number, slot } = await registerWriter(commits)
    const lane = new CommitLane(commits, reads, number, options.onExpelled ?? (() => undefined))
    const size = new StoreSize(reads, lane)
    await size.refresh()
    return {
      number,
      slot,
      expel: (gone) => orUnavailable(expelWriter(commits, gone)),
      statementCount: () => count.statements,
      read: (wanted) => orUnavailable(reads.read(wanted)),
      snapshot: () => orUnavailable(reads.snapshot()),
      commit: (transactions) => orUnavailable(lane.commit(transactions)),
      alone: (work) => orUnavailable(lane.alone(work)),
      sizeBytes: () => size.bytes(),
      close: async () => {
        // If this fails, others find out that the node is gone.
        await expelWriter(commits, number).catch(() => undefined)
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

const NOTHING: Wanted & Found = { keys: [], ranges: [] }

class Reads {
  readonly #pool: Pool
  readonly #snapshots: Pool
  readonly #options: PostgresOptions
  #time = { databaseMs: 0, receivedMs: 0 }

  constructor(settings: ConnectionSettings, count: StatementCount, options: PostgresOptions) {
    this.#pool = new Pool(settings, READ_CONNECTIONS, count)
    this.#snapshots = new Pool(settings, SNAPSHOT_CONNECTIONS, count)
    this.#options = options
  }

  async read(wanted: Wanted): Promise<Found> {
    return isNothing(wanted) ? NOTHING : this.#read(wanted)
  }

  async readTime(): Promise<void> {
    await this.#read(NOTHING)
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
    this.#options.onTime?.(databaseMs, sentMs, receivedMs)
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

const READ_SIZE = { name: 'read_size', text: `SELECT pg_total_relation_size('lazuli.kv')` }

function isNothing({ keys, ranges }: Wanted): boolean {
  return keys.length + ranges.length === 0
}

/** The size of the store as last read, plus what was written since. */
class StoreSize {
  readonly #reads: Reads
  readonly #lane: CommitLane
  #read = { bytes: 0, atMs: 0, writtenBytes: 0 }

  constructor(reads: Reads, lane: CommitLane) {
    this.#reads = reads
    this.#lane = lane
  }

  bytes(): number {
    const { bytes, atMs, writtenBytes } = this.#read
    // If the database is away, the old size has to do.
    if (performance.now() - atMs > SIZE_MS_MAX) void this.refresh().catch(() => undefined)
    return bytes + this.#lane.writtenBytes - writtenBytes
  }

  async refresh(): Promise<void> {
    const { writtenBytes } = this.#lane
    this.#read = { ...this.#read, atMs: performance.now() }
    const bytes = await this.#reads.readSize()
    this.#read = { bytes, atMs: performance.now(), writtenBytes }
  }
}
