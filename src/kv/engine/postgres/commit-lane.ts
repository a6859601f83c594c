// Commits of this process, one group at a time, in order. The database's lane puts them in one order with those of other
// processes.
import { setTimeout as pause } from 'node:timers/promises'
import {
  CALL_MS_MAX,
  DatabaseUnavailable,
  sqlState,
  STATEMENT_MS_MAX,
  type Connection,
  type Statement,
} from '../../../postgres/client.ts'
import { callDeadlineMs, isLost, type Pool } from '../../../postgres/pool.ts'
import { isOvertaken, type Engine, type Retry, type Transaction, type Verdict } from '../engine.ts'
import { Exclusive } from '../exclusive.ts'
import { COMMIT_ERROR } from './commit-function.ts'
import { encodeGroup, verdictsOf, type Group } from './commit.ts'
import { COMMIT, COMMIT_AND_LEAVE, LEAVE_LANE, ONLY_COMMIT, TAKE_LANE } from './lane-statements.ts'

/** Between attempts to find out whether a commit was stored. */
const RETRY_MS = 50

export type DatabaseTime = {
  databaseMs(): number
  readTime(): Promise<void>
}

/** A call of the commit function. It may take effect until `endMs`, and its caller gives up at `deadlineMs`. */
type Call = {
  readonly number: number
  readonly group: Group
  readonly endMs: number
  readonly deadlineMs: number
}

/** Commits so far. */
export type CommitCounts = {
  /** Calls, with one transaction or many. */
  groups: number
  transactions: number
  /** Refused, because something that they had read has changed. They run again, and count again. */
  overtaken: number
}

export class CommitLane {
  readonly counts: CommitCounts = { groups: 0, transactions: 0, overtaken: 0 }
  readonly #pool: Pool
  readonly #time: DatabaseTime
  readonly #turns = new Exclusive()
  readonly #number: number
  readonly #onExpelled: () => void
  #callCount = 0
  #writtenBytes = 0

  constructor(pool: Pool, time: DatabaseTime, number: number, onExpelled: () => void) {
    this.#pool = pool
    this.#time = time
    this.#number = number
    this.#onExpelled = onExpelled
  }

  get writtenBytes(): number {
    return this.#writtenBytes
  }

  commit(transactions: readonly Transaction[], retry?: Retry): Promise<readonly Verdict[]> {
    const group = encodeGroup(transactions)
    if (group === undefined) return Promise.resolve(transactions.map(() => 'committed'))
    const deadlineMs = callDeadlineMs()
    return this.#turns.run(async () => {
      const call = this.#newCall(group, deadlineMs)
      if (retry === undefined) return this.#repeat(call, false)
      let held: Connection | undefined
      const verdicts = await this.#repeat(call, false, (connection) => (held = connection))
      if (held !== undefined) await this.#retry(held, verdicts, retry)
      return verdicts
    })
  }

  /** The session of `connection` holds the lane; its next commit leaves it. */
  async #retry(connection: Connection, verdicts: readonly Verdict[], retry: Retry): Promise<void> {
    let isHeld = true
    try {
      await retry(verdicts, async (transactions) => {
        const group = encodeGroup(transactions)
        if (group === undefined) return transactions.map(() => 'committed')
        const statement = isHeld ? COMMIT_AND_LEAVE : ONLY_COMMIT
        isHeld = false
        return this.#commitHeld(connection, group, statement)
      })
    } finally {
      if (isHeld) await leaveLane(connection)
      this.#pool.put(connection)
    }
  }

  /** Holds the lane by a lock of the session. */
  alone<T>(work: (commit: Engine['commit']) => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      const connection = await this.#pool.takeAfter(async (each, deadlineMs) => {
        await each.run(TAKE_LANE, [], deadlineMs)
      })
      try {
        return await work(async (transactions) => {
          const group = encodeGroup(transactions)
          if (group === undefined) return transactions.map(() => 'committed')
          const verdicts = await this.#commitHeld(connection, group, ONLY_COMMIT)
          if (connection.isOpen || !verdicts.some(isOvertaken)) return verdicts
          throw new DatabaseUnavailable('The connection that held the lane was lost.', false)
        })
      } finally {
        await leaveLane(connection)
        this.#pool.put(connection)
      }
    })
  }

  async #commitHeld(
    connection: Connection,
    group: Group,
    statement: Statement,
  ): Promise<readonly Verdict[]> {
    const call = this.#newCall(group, callDeadlineMs())
    try {
      return await this.#attempt(connection, call, statement)
    } catch (error) {
      if (!isLost(error)) throw error
      // Without the lane: others may have overtaken it.
      return this.#repeat(call, true)
    }
  }

  #newCall(group: Group, deadlineMs: number): Call {
    this.#callCount += 1
    const endMs = deadlineMs - (CALL_MS_MAX - STATEMENT_MS_MAX)
    return { number: this.#callCount, group, endMs, deadlineMs }
  }

  /**
   * Repeats a call whose answer was lost, with the same number: the function returns the recorded outcome if the first
   * one was stored, and runs otherwise. If the first one still runs on the server, the second waits for it in the lane.
   * When this gives up, the first one can't take effect any more: it is too late for it (`endMs`). With `onHeld`, the lane is
   * held if something was overtaken, and `onHeld` gets the connection instead of the pool.
   */
  async #repeat(
    call: Call,
    isLostBefore: boolean,
    onHeld?: (connection: Connection) => void,
  ): Promise<readonly Verdict[]> {
    let isUnknown = isLostBefore
    for (;;) {
      try {
        const connection = await this.#pool.take(call.deadlineMs)
        let isHeld = false
        try {
          const statement = onHeld === undefined ? ONLY_COMMIT : COMMIT
          const verdicts = await this.#attempt(connection, call, statement)
          isHeld = onHeld !== undefined && verdicts.some(isOvertaken)
          if (isHeld) onHeld?.(connection)
          return verdicts
        } finally {
          if (!isHeld) this.#pool.put(connection)
        }
      } catch (error) {
        isUnknown ||= isLost(error)
        await this.#recover(error, isUnknown, call)
      }
    }
  }

  async #attempt(
    connection: Connection,
    call: Call,
    statement: Statement,
  ): Promise<readonly Verdict[]> {
    const { number, group, endMs, deadlineMs } = call
    const untilUs = Math.floor((this.#time.databaseMs() + endMs - performance.now()) * 1_000)
    const parameters = [this.#number, number, untilUs, ...group.parameters]
    const rows = await connection.run(statement, parameters, deadlineMs)
    this.#writtenBytes += group.writtenBytes
    const verdicts = verdictsOf(group, rows)
    this.counts.groups += 1
    this.counts.transactions += verdicts.length
    for (const verdict of verdicts) if (verdict !== 'committed') this.counts.overtaken += 1
    return verdicts
  }

  /** Returns if the call may be repeated. */
  async #recover(error: unknown, isUnknown: boolean, { endMs }: Call): Promise<void> {
    const code = sqlState(error)
    const isOver = performance.now() + RETRY_MS >= endMs
    if (code === COMMIT_ERROR.unknownWriter) {
      this.#onExpelled()
      throw new DatabaseUnavailable('Other nodes have expelled this one.', isUnknown, error)
    }
    if (code === COMMIT_ERROR.late && !isOver) {
      // The database's clock was set.
      await this.#time.readTime()
    } else if (isUnknown && !isOver && error instanceof DatabaseUnavailable) {
      await pause(RETRY_MS)
    } else if (error instanceof DatabaseUnavailable || code === COMMIT_ERROR.late) {
      throw new DatabaseUnavailable(`The commit failed: ${String(error)}`, isUnknown, error)
    } else {
      throw error
    }
  }
}

async function leaveLane(connection: Connection): Promise<void> {
  await connection.run(LEAVE_LANE, [], callDeadlineMs()).catch(() => connection.destroy())
}
