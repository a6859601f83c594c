// Transactions of an engine that commits many at a time. A body runs at once, on the store as it will be with the
// writes that are on their way, and waits for its commit afterwards: while one commit is written and synced,
// the bodies of the next ones run. That is safe where this process is the only writer (kv/owner.ts), and
// because a commit that fails takes all that was built upon it along.
import type { ReadTx, Step, Tx } from './kv.ts'
import { Recent } from './recent.ts'
import {
  bufferWrites,
  NO_WRITES,
  runStraight,
  WithWrites,
  type Write,
  type Writes,
} from './transaction.ts'

/** A body that has run and waits for its writes to be durable. */
type Run = {
  readonly writes: Writes
  readonly settle: () => void
  readonly reject: (error: unknown) => void
}

// Of many that wait, the first half go into a commit: while that is synced, the requests and answers of the others
// are dealt with, instead of all of them standing still at once.
const COMMIT_COUNT_MIN = 16

export class Commits {
  /** The store as it is, for bodies that only read. */
  readonly durable: Recent
  /** The store with what has been written and is not durable yet. */
  readonly #ahead: WithWrites
  readonly #commit: (writes: Writes) => Promise<void>
  #waiting: Run[] = []
  #committing: Promise<void> | undefined

  /** `commit` makes all of its writes durable or none of them. */
  constructor(store: ReadTx, commit: (writes: Writes) => Promise<void>) {
    this.durable = new Recent(store, (name) => this.#ahead.has(name))
    this.#ahead = new WithWrites(this.durable)
    this.#commit = commit
  }

  write<T>(body: (tx: Tx) => Step<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const tx = bufferWrites(this.#ahead)
      try {
        const value = runStraight(body(tx))
        this.#wait({ writes: tx.writes(), settle: () => resolve(value), reject })
      } catch (error) {
        // It may have failed for what another body has written: that must be durable before anybody hears of it.
        this.#wait({ writes: NO_WRITES, settle: () => reject(error), reject })
      }
    })
  }

  #wait(run: Run): void {
    if (run.writes.size === 0 && this.#committing === undefined) return run.settle()
    this.#ahead.add(run.writes)
    this.durable.forget(run.writes.keys())
    this.#waiting.push(run)
    this.#committing ??= this.#commitWaiting()
  }

  async #commitWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const count = Math.max(COMMIT_COUNT_MIN, Math.ceil(this.#waiting.length / 2))
      const runs = this.#waiting.splice(0, count)
      const writes = lastOfEach(runs)
      try {
        if (writes.size > 0) await this.#commit(writes)
        this.#ahead.remove(writes)
        this.durable.stored(writes)
        for (const { settle } of runs) settle()
      } catch (error) {
        // A full disk, say. The newest first, so that each finds what it has changed as it had left it.
        const failed = [...runs, ...this.#waiting.splice(0)].reverse()
        this.#ahead.clear()
        for (const { reject } of failed) reject(error)
      }
    }
    this.#committing = undefined
  }

  /** When nothing waits any more. */
  async settled(): Promise<void> {
    await this.#committing
  }
}

/** What many have written one after the other, such as a count, is stored once. */
function lastOfEach(runs: readonly Run[]): Writes {
  const [only] = runs
  if (only !== undefined && runs.length === 1) return only.writes
  const last = new Map<string, Write>()
  for (const { writes } of runs) for (const [name, write] of writes) last.set(name, write)
  return last
}
