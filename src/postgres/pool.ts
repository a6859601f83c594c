// A few connections that are opened on demand and shared in turn. A lost one is replaced at its next use.
import {
  CALL_MS_MAX,
  connect,
  DatabaseUnavailable,
  type Connection,
  type Parameter,
  type Row,
  type Statement,
  type StatementCount,
} from './client.ts'
import type { ConnectionSettings } from './settings.ts'

type Waiter = (connection: Connection | undefined) => void

export class Pool {
  readonly #settings: ConnectionSettings
  readonly #countMax: number
  readonly #count: StatementCount
  readonly #idle: Connection[] = []
  readonly #waiting: Waiter[] = []
  #inUse = 0
  #isClosed = false
  #onReturned: (() => void) | undefined

  constructor(settings: ConnectionSettings, countMax: number, count: StatementCount) {
    this.#settings = settings
    this.#countMax = countMax
    this.#count = count
  }

  /** Runs a statement that may be repeated: it changes nothing, or the same again. */
  async run(statement: Statement, values: readonly Parameter[]): Promise<readonly Row[]> {
    let rows: readonly Row[] = []
    const connection = await this.takeAfter(async (each, deadlineMs) => {
      rows = await each.run(statement, values, deadlineMs)
    })
    this.put(connection)
    return rows
  }

  /** Takes a connection and runs `prepare` on it. If the connection turns out to be lost, takes another one. */
  async takeAfter(
    prepare: (connection: Connection, deadlineMs: number) => Promise<void>,
  ): Promise<Connection> {
    const deadlineMs = callDeadlineMs()
    for (;;) {
      const connection = await this.take(deadlineMs)
      try {
        await prepare(connection, deadlineMs)
        return connection
      } catch (error) {
        this.put(connection)
        if (!isLost(error) || performance.now() >= deadlineMs) throw error
      }
    }
  }

  /** A connection for the caller alone, until it is put back. */
  async take(deadlineMs: number): Promise<Connection> {
    if (this.#isClosed) throw new DatabaseUnavailable('The pool is closed.', false)
    const idle = this.#inUse < this.#countMax ? this.#takeIdle() : await this.#wait(deadlineMs)
    if (idle !== undefined) return idle
    try {
      return await connect(this.#settings, this.#count, deadlineMs)
    } catch (error) {
      this.put(undefined)
      throw error
    }
  }

  put(connection: Connection | undefined): void {
    const open = connection?.isOpen === true ? connection : undefined
    const next = this.#waiting.shift()
    if (next !== undefined) return next(open)
    this.#inUse -= 1
    if (open !== undefined) {
      if (this.#isClosed) void open.close()
      else this.#idle.push(open)
    }
    if (this.#inUse === 0) this.#onReturned?.()
  }

  /** Waits until every connection is back. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#inUse > 0) await new Promise<void>((resolve) => (this.#onReturned = resolve))
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()))
  }

  #takeIdle(): Connection | undefined {
    this.#inUse += 1
    for (;;) {
      const idle = this.#idle.pop()
      if (idle === undefined || idle.isOpen) return idle
    }
  }

  #wait(deadlineMs: number): Promise<Connection | undefined> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = (connection) => {
        clearTimeout(timer)
        resolve(connection)
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(new DatabaseUnavailable('All connections to the database are in use.', false))
      }, deadlineMs - performance.now())
      this.#waiting.push(waiter)
    })
  }
}

export function callDeadlineMs(): number {
  return performance.now() + CALL_MS_MAX
}

/** The connection was lost while the statement ran. */
export function isLost(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.isOutcomeUnknown
}
