// Runs that wait for their commit. They are committed in order, many at a time, one commit after the other; while one
// is written and synced, the bodies of the next ones run.
import type { RecordCache } from '../cache.ts'
import type { Engine, Transaction, Verdict } from '../engine/engine.ts'
import type { Run } from '../transaction.ts'
import type { Known } from './known.ts'

export type QueuedRun = {
  /** What others see of it. It does not lead to the runs it has seen, or a busy key would keep all of them alive. */
  readonly run: Run
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
  #failureCount = 0

  constructor(engine: Engine, known: Known, cache: RecordCache) {
    this.#engine = engine
    this.#known = known
    this.#cache = cache
  }

  /** Commits that have failed: what a body saw before one of them may never have been stored. */
  get failureCount(): number {
    return this.#failureCount
  }

  add(queued: QueuedRun): void {
    this.#known.add(queued.run)
    for (const name of queued.run.writes.keys()) this.#cache.drop(name)
    this.#waiting.push(queued)
    this.#committing ??= this.#commitWaiting()
  }

  /** When nothing waits any more. */
  async settled(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing
  }

  /** Runs `work` while no commit is under way: then the engine has exactly what is settled. */
  atRest<T>(work: () => T): Promise<T> {
    // In a promise of its own, which reports an error of `work`: commits go on.
    const working = (): Promise<T> => new Promise((resolve) => resolve(work()))
    if (this.#committing === undefined) return working()
    return new Promise((resolve) => this.#atRest.push(() => resolve(working())))
  }

  async #commitWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      const verdicts = await this.#commit(group).catch((error: unknown) => ({ error }))
      if ('error' in verdicts) this.#failAll(group, verdicts.error)
      else this.#conclude(group, verdicts)
      for (const work of this.#atRest.splice(0)) work()
    }
    this.#committing = undefined
  }

  #takeGroup(): QueuedRun[] {
    const count = Math.max(GROUP_COUNT_MIN, Math.ceil(this.#waiting.length / 2))
    if (this.#engine.local !== undefined) return this.#waiting.splice(0, count)
    const group = new Set<Run>()
    for (const queued of this.#waiting.slice(0, count)) {
      // The engine checks what a run has read in the store, but not volatile records: it must not commit one that
      // has seen those of a run it may refuse.
      if (queued.reads !== undefined && hasSeenVolatile(queued, group)) break
      group.add(queued.run)
    }
    return this.#waiting.splice(0, group.size)
  }

  async #commit(group: readonly QueuedRun[]): Promise<readonly (Verdict | undefined)[]> {
    if (this.#engine.local === undefined) return this.#engine.commit(group.map(transactionOf))
    const writes = lastOfEach(group)
    if (writes.length > 0) await this.#engine.commit([{ writes }])
    return group.map(() => 'committed')
  }

  #conclude(group: readonly QueuedRun[], verdicts: readonly (Verdict | undefined)[]): void {
    const refused = new Map<Run, Verdict | undefined>()
    const done: QueuedRun[] = []
    group.forEach((queued, at) => {
      if (verdicts[at] === 'committed') done.push(queued)
      else refused.set(queued.run, verdicts[at])
    })
    for (const { run } of done) {
      this.#known.settle(run)
      this.#keepWritten(run)
    }
    const retried = refused.size === 0 ? [] : this.#takeRefused(group, refused)
    for (const queued of done) queued.settle()
    for (const [queued, verdict] of retried) queued.retry(verdict)
  }

  /** Refused runs, with those behind them that have seen their writes. */
  #takeRefused(
    group: readonly QueuedRun[],
    refused: Map<Run, Verdict | undefined>,
  ): [QueuedRun, Verdict | undefined][] {
    const left: QueuedRun[] = []
    const retried = group.filter(({ run }) => refused.has(run))
    for (const queued of this.#waiting) {
      if ([...queued.seen].some((seen) => refused.has(seen))) {
        refused.set(queued.run, undefined)
        retried.push(queued)
      } else {
        left.push(queued)
      }
    }
    this.#waiting = left
    this.#known.restart(left.map(({ run }) => run))
    return retried.map((queued) => [queued, refused.get(queued.run)])
  }

  #keepWritten(run: Run): void {
    for (const [name, { key, value }] of run.writes) {
      // Parsing others is left to who reads them.
      if (value?.isParsed !== true || this.#known.isPending(name)) continue
      if (this.#cache.wasSeen(key)) this.#cache.keepWritten(name, value, run.version)
    }
  }

  /** A full disk, say. Whatever was built on the failed commit fails with it. */
  #failAll(group: readonly QueuedRun[], error: unknown): void {
    const failed = [...group, ...this.#waiting.splice(0)]
    this.#failureCount += 1
    this.#known.restart([])
    for (const queued of failed) queued.fail(error)
  }
}

function hasSeenVolatile({ seen }: QueuedRun, group: ReadonlySet<Run>): boolean {
  for (const run of seen) {
    if (run.volatileWrites.length > 0 && group.has(run)) return true
  }
  return false
}

/** What many runs write one after the other, such as a counter, is stored once. */
function lastOfEach(group: readonly QueuedRun[]): Transaction['writes'] {
  const last = new Map<string, Transaction['writes'][number]>()
  for (const { run } of group) {
    const { version } = run
    for (const [name, { key, value }] of run.writes) {
      last.set(name, { key, value: value?.value, version })
    }
  }
  return [...last.values()]
}

function transactionOf({ run, reads }: QueuedRun): Transaction {
  const { version } = run
  const writes: Transaction['writes'][number][] = []
  for (const { key, value } of run.writes.values()) {
    writes.push({ key, value: value?.value, version })
  }
  return reads === undefined ? { writes } : { reads, writes }
}
