// Runs that wait for their commit. They are committed in order, many at a time, one commit after the other; while one
// is written and synced, the bodies of the next ones run.
import type { RecordCache } from '../cache.ts'
import type { Engine, Transaction, Verdict } from '../engine/engine.ts'
import type { Run } from '../transaction.ts'
import type { Known } from './known.ts'

export type QueuedRun = Run & {
  /** Runs whose writes it has seen or overwritten before they were durable. */
  readonly seen: ReadonlySet<Run>
  /** What it has read; absent where nobody else writes. */
  readonly reads?: Transaction['reads']
  /** Everything it has written and seen is durable. */
  settle(): void
  /** The commit failed: it has changed nothing. */
  fail(error: unknown): void
  /** It saw something that has changed: it has changed nothing and must run again. */
  retry(verdict: Verdict | undefined): void
}

// Of many runs that wait, half go into a commit: while it is synced, the requests and answers of the others are
// handled, instead of all of them standing still at once.
const GROUP_COUNT_MIN = 16

export class CommitQueue {
  readonly #engine: Engine
  readonly #known: Known
  readonly #cache: RecordCache
  #waiting: QueuedRun[] = []
  #committing: Promise<void> | undefined
  #atRest: (() => void)[] = []

  constructor(engine: Engine, known: Known, cache: RecordCache) {
    this.#engine = engine
    this.#known = known
    this.#cache = cache
  }

  add(run: QueuedRun): void {
    this.#known.add(run)
    for (const name of run.writes.keys()) this.#cache.drop(name)
    this.#waiting.push(run)
    this.#committing ??= this.#commitWaiting()
  }

  /** When nothing waits any more. */
  async settled(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing
  }

  /** Runs `work` while no commit is under way: then the engine has exactly what is settled. */
  atRest<T>(work: () => T): Promise<T> {
    if (this.#committing === undefined) return Promise.resolve(work())
    return new Promise((resolve) => this.#atRest.push(() => resolve(work())))
  }

  async #commitWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const runs = this.#takeGroup()
      const verdicts = await this.#commit(runs).catch((error: unknown) => ({ error }))
      if ('error' in verdicts) this.#failAll(runs, verdicts.error)
      else this.#conclude(runs, verdicts)
      for (const work of this.#atRest.splice(0)) work()
    }
    this.#committing = undefined
  }

  #takeGroup(): QueuedRun[] {
    const count = Math.max(GROUP_COUNT_MIN, Math.ceil(this.#waiting.length / 2))
    if (this.#engine.local !== undefined) return this.#waiting.splice(0, count)
    const group = new Set<Run>()
    for (const run of this.#waiting.slice(0, count)) {
      // The engine checks what a run has read in the store, but not volatile records: it must not commit one that
      // has seen those of a run it may refuse.
      if (run.reads !== undefined && hasSeenVolatile(run, group)) break
      group.add(run)
    }
    return this.#waiting.splice(0, group.size)
  }

  async #commit(runs: readonly QueuedRun[]): Promise<readonly (Verdict | undefined)[]> {
    if (this.#engine.local === undefined) return this.#engine.commit(runs.map(transactionOf))
    const writes = lastOfEach(runs)
    if (writes.length > 0) await this.#engine.commit([{ writes }])
    return runs.map(() => 'committed')
  }

  #conclude(runs: readonly QueuedRun[], verdicts: readonly (Verdict | undefined)[]): void {
    const refused = new Map<Run, Verdict | undefined>()
    const done: QueuedRun[] = []
    runs.forEach((run, at) => {
      if (verdicts[at] === 'committed') done.push(run)
      else refused.set(run, verdicts[at])
    })
    for (const run of done) {
      this.#known.settle(run)
      this.#keepWritten(run)
    }
    const retried = refused.size === 0 ? [] : this.#takeRefused(runs, refused)
    for (const run of done) run.settle()
    for (const [run, verdict] of retried) run.retry(verdict)
  }

  /** Refused runs, with those behind them that have seen their writes. */
  #takeRefused(
    runs: readonly QueuedRun[],
    refused: Map<Run, Verdict | undefined>,
  ): [QueuedRun, Verdict | undefined][] {
    const left: QueuedRun[] = []
    const retried = runs.filter((run) => refused.has(run))
    for (const run of this.#waiting) {
      if ([...run.seen].some((seen) => refused.has(seen))) {
        refused.set(run, undefined)
        retried.push(run)
      } else {
        left.push(run)
      }
    }
    this.#waiting = left
    this.#known.restart(left)
    return retried.map((run) => [run, refused.get(run)])
  }

  #keepWritten(run: QueuedRun): void {
    for (const [name, { key, value }] of run.writes) {
      // Parsing others is left to who reads them.
      if (value?.isParsed !== true || this.#known.isPending(name)) continue
      if (this.#cache.wasSeen(key)) this.#cache.keepWritten(name, value, run.version)
    }
  }

  /** A full disk, say. Whatever was built on the failed commit fails with it. */
  #failAll(runs: readonly QueuedRun[], error: unknown): void {
    const failed = [...runs, ...this.#waiting.splice(0)]
    this.#known.restart([])
    for (const run of failed) run.fail(error)
  }
}

function hasSeenVolatile(run: QueuedRun, group: ReadonlySet<Run>): boolean {
  for (const seen of run.seen) {
    if (seen.volatileWrites.length > 0 && group.has(seen)) return true
  }
  return false
}

/** What many runs write one after the other, such as a counter, is stored once. */
function lastOfEach(runs: readonly QueuedRun[]): Transaction['writes'] {
  const last = new Map<string, Transaction['writes'][number]>()
  for (const { writes, version } of runs) {
    for (const [name, { key, value }] of writes)
      last.set(name, { key, value: value?.value, version })
  }
  return [...last.values()]
}

function transactionOf({ writes, reads, version }: QueuedRun): Transaction {
  const list: Transaction['writes'][number][] = []
  for (const { key, value } of writes.values()) list.push({ key, value: value?.value, version })
  return reads === undefined ? { writes: list } : { reads, writes: list }
}
