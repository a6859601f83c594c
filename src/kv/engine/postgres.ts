// PostgreSQL as the engine of any number of nodes. Commits of all nodes go through one lane, a lock in the database, in
// groups: one call of a function each. Reads are one statement for everything wanted at the moment.
import type { StatementCount } from '../../postgres/client.ts'
import { Pool } from '../../postgres/pool.ts'
import type { ConnectionSettings } from '../../postgres/settings.ts'
import type { Engine } from './engine.ts'
import { CommitLane, type CommitCounts } from './postgres/commit-lane.ts'
import { orUnavailable } from './postgres/or-unavailable.ts'
import { Reads, type OnTime } from './postgres/reads.ts'
import { prepareSchema } from './postgres/schema.ts'
import { expelWriter, registerWriter } from './postgres/writer.ts'

/** One commits; the other one is only for asking after a commit when the first was lost. */
const COMMIT_CONNECTIONS = 2
const SIZE_MS_MAX = 10_000

export type PostgresOptions = {
  /** Called when a commit was refused because others have expelled this engine. */
  readonly onExpelled?: () => void
  readonly onTime?: OnTime
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
  /** Commits so far. */
  readonly commitCounts: Readonly<CommitCounts>
}

export async function openPostgresEngine(
  settings: ConnectionSettings,
  options: PostgresOptions = {},
): Promise<PostgresEngine> {
  const count: StatementCount = { statements: 0 }
  const commits = new Pool(settings, COMMIT_CONNECTIONS, count)
  const reads = new Reads(settings, count, options.onTime)
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
      commitCounts: lane.counts,
      read: (wanted) => orUnavailable(reads.read(wanted)),
      snapshot: () => orUnavailable(reads.snapshot()),
      commit: (transactions, retry) => orUnavailable(lane.commit(transactions, retry)),
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
