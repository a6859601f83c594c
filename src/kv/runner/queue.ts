// Runs that wait for their commit. They are committed in order, in groups, one group at a time. While a group is written
// and synced, the bodies of the next one run.
import type { RecordCache } from '../cache.ts'
import type { Engine, Retry, Transaction, Verdict } from '../engine/engine.ts'
import type { Run } from '../transaction.ts'
import { Turn } from '../turn.ts'
import { countWithin } from './count-within.ts'
import type { Known } from './known.ts'
import { EngineState } from './shared-view.ts'

export type QueuedRun = {
  /** Kept apart from `seen`: otherwise each run of a busy key would keep its predecessor alive, and so on. */
  readonly run: Run
  /** Runs whose writes it has seen or overwritten before they were durable. */
  readonly seen: ReadonlySet<Run>
  /** Its read set; absent where there is only one writer. */
  readonly reads?: Transaction['reads']
  /** Everything it has written and seen is durable. */
  settle(): void
  /** The commit failed: it has changed nothing. */
  fail(error: unknown): void
  /** Something it read has changed: nothing was stored, and it must run again. */
  retry(overtaken: OvertakenRun): void
}

/** Why a run has to be repeated. */
export type OvertakenRun = {
  /** What the refused runs of its group have read, as it is now. */
  readonly current: EngineState
  /** Whether that includes all that this run has read. If not, the run was not checked: it has seen writes of a refused one. */
  readonly isComplete: boolean
}

/** Lets a body run again. */
type Repeat = () => void

/** Work that was overtaken too often. `run` never fails. */
type Starving = { run(): Promise<void>; fail(error: unknown): void }

// A commit takes half of the waiting runs: while it syncs, the server handles requests and answers of the other half
// instead of idling.
const GROUP_COUNT_MIN = 16
/** Where others write too, they wait while a group is committed, so it must not be large. */
const GROUP_BYTES_MAX = 2 * 2 ** 20
/** How long bodies may run while everybody else waits for them. */
const REPEAT_MS_MAX = 20

function sizeBytes({ run }: QueuedRun): number {
  let total = 0
  for (const { value } of run.writes.values()) total += value?.value.length ?? 0
  return total
}

export class CommitQueue {
  readonly #engine: Engine
  readonly #known: Known
  readonly #cache: RecordCache
  #waiting: QueuedRun[] = []
  #starving: Starving[] = []
  /** Tells a commit that runs alone that there is something to do. */
  #wake: () => void = () => undefined
  #committing: Promise<void> | undefined
  #atRest: (() => void)[] = []
  #failureCount = 0
  /** Records that were cached when a run overwrote them. They are cached again once the write is durable. */
  readonly #hot = new Set<string>()

  constructor(engine: Engine, known: Known, cache: RecordCache) {
    this.#engine = engine
    this.#known = known
    this.#cache = cache
  }

  /** Number of failed commits. A body that spans one may have seen writes that were never stored. */
  get failureCount(): number {
    return this.#failureCount
  }

  add(queued: QueuedRun): void {
    this.#known.add(queued.run)
    for (const name of queued.run.writes.keys()) if (this.#cache.drop(name)) this.#hot.add(name)
    this.#waiting.push(queued)
    this.#wake()
    this.#committing ??= this.#commitWaiting()
  }

  /** Resolves when no run is waiting. */
  async settled(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing
  }

  /** Runs `work` between commits, when the engine has exactly the settled runs. */
  atRest<T>(work: () => T): Promise<T> {
    // In its own promise, so that an error of `work` does not stop commits.
    const working = (): Promise<T> => new Promise((resolve) => resolve(work()))
    if (this.#committing === undefined) return working()
    return new Promise((resolve) => this.#atRest.push(() => resolve(working())))
  }

  /**
   * Runs `work` while only this queue can commit, together with everything else that asked for it meanwhile. Nobody else
   * overtakes what `work` adds.
   */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#starving.push({ run: () => work().then(resolve, reject), fail: reject })
      this.#committing ??= this.#commitWaiting()
    })
  }

  async #commitWaiting(): Promise<void> {
    while (this.#waiting.length + this.#starving.length > 0) {
      if (this.#starving.length > 0) await this.#commitAlone(this.#starving.splice(0))
      else
        await this.#commitGroup((transactions, retry) => this.#engine.commit(transactions, retry))
    }
    this.#committing = undefined
  }

  async #commitGroup(
    commit: Engine['commit'],
    group: readonly QueuedRun[] = this.#takeGroup(),
  ): Promise<void> {
    let isConcluded = false
    try {
      const verdicts = await this.#commit(group, commit, async (refused, commitNext) => {
        isConcluded = true
        await this.#commitRepeated(this.#conclude(group, refused), commitNext)
      })
      if (!isConcluded) for (const repeat of this.#conclude(group, verdicts)) repeat()
    } catch (error) {
      if (isConcluded) throw error
      this.#failAll(group, error)
    }
    for (const work of this.#atRest.splice(0)) work()
  }

  /** While nobody else can commit: what runs again now is not overtaken again. */
  async #commitRepeated(repeats: readonly Repeat[], commit: Engine['commit']): Promise<void> {
    const turn = new Turn(REPEAT_MS_MAX)
    const late: Repeat[] = []
    for (const repeat of repeats) {
      if (turn.isOver()) {
        late.push(repeat)
        continue
      }
      repeat()
      // Until it has run. One that has to read first doesn't hold up the others; it takes its chance later.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    if (this.#waiting.length > 0) await this.#commitGroup(commit, this.#takeUpTo(Infinity))
    for (const repeat of late) repeat()
  }

  async #commitAlone(starving: readonly Starving[]): Promise<void> {
    let hasBegun = false
    try {
      await this.#engine.alone(async (commit) => {
        hasBegun = true
        const left = new Set(starving)
        for (const each of starving) {
          void each.run().then(() => {
            left.delete(each)
            this.#wake()
          })
        }
        while (left.size > 0) {
          if (this.#waiting.length > 0) await this.#commitGroup(commit)
          else await new Promise<void>((resolve) => (this.#wake = resolve))
        }
      })
    } catch (error) {
      if (!hasBegun) for (const { fail } of starving) fail(error)
    }
  }

  #takeGroup(): QueuedRun[] {
    return this.#takeUpTo(Math.max(GROUP_COUNT_MIN, Math.ceil(this.#waiting.length / 2)))
  }

  #takeUpTo(count: number): QueuedRun[] {
    if (this.#engine.local !== undefined) return this.#waiting.splice(0, count)
    const group = new Set<Run>()
    const candidates = this.#waiting.slice(0, count)
    for (const queued of candidates.slice(0, countWithin(candidates, sizeBytes, GROUP_BYTES_MAX))) {
      // The engine checks stored reads, but not volatile ones. So a run must not be in one group with a run whose volatile
      // writes it has seen: the engine may refuse that one.
      if (queued.reads !== undefined && hasSeenVolatile(queued, group)) break
      group.add(queued.run)
    }
    return this.#waiting.splice(0, group.size)
  }

  async #commit(
    group: readonly QueuedRun[],
    commit: Engine['commit'],
    retry: Retry,
  ): Promise<readonly (Verdict | undefined)[]> {
    if (this.#engine.local === undefined) return commit(group.map(transactionOf), retry)
    const writes = group.flatMap((queued) => transactionOf(queued).writes)
    if (writes.length > 0) await commit([{ writes }])
    return group.map(() => 'committed')
  }

  /** Returns what has to run again, in order. */
  #conclude(
    group: readonly QueuedRun[],
    verdicts: readonly (Verdict | undefined)[],
  ): readonly Repeat[] {
    const done = group.filter((_, at) => verdicts[at] === 'committed')
    for (const { run } of done) {
      this.#known.settle(run)
      this.#keepWritten(run)
    }
    const repeats = done.length === group.length ? [] : this.#takeRefused(group, verdicts)
    for (const queued of done) queued.settle()
    return repeats
  }

  /** Removes refused runs, and waiting ones that have seen their writes. */
  #takeRefused(
    group: readonly QueuedRun[],
    verdicts: readonly (Verdict | undefined)[],
  ): readonly Repeat[] {
    const current = new EngineState(this.#cache)
    const refused = new Set<Run>()
    const repeats: Repeat[] = []
    group.forEach((queued, at) => {
      const verdict = verdicts[at]
      if (verdict === 'committed') return
      refused.add(queued.run)
      if (verdict !== undefined && queued.reads !== undefined) {
        current.addCurrent(queued.reads, verdict.current)
      }
      repeats.push(() => queued.retry({ current, isComplete: true }))
    })
    const left: QueuedRun[] = []
    for (const queued of this.#waiting) {
      if ([...queued.seen].some((seen) => refused.has(seen))) {
        refused.add(queued.run)
        repeats.push(() => queued.retry({ current, isComplete: false }))
      } else {
        left.push(queued)
      }
    }
    this.#waiting = left
    this.#hot.clear()
    this.#known.restart(left.map(({ run }) => run))
    return repeats
  }

  #keepWritten(run: Run): void {
    if (this.#hot.size === 0) return
    for (const [name, { value }] of run.writes) {
      if (this.#known.isPending(name) || !this.#hot.delete(name)) continue
      // Records that are not parsed yet are left to their first reader.
      if (value?.isParsed === true) this.#cache.keepWritten(name, value, run.version)
    }
  }

  /** After a full disk, for example. Everything built on the failed commit fails with it. */
  #failAll(group: readonly QueuedRun[], error: unknown): void {
    const failed = [...group, ...this.#waiting.splice(0)]
    this.#failureCount += 1
    this.#hot.clear()
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

function transactionOf({ run, reads }: QueuedRun): Transaction {
  const { version } = run
  const writes: Transaction['writes'][number][] = []
  for (const { key, value } of run.writes.values()) {
    writes.push({ key, value: value?.value, version })
  }
  return reads === undefined ? { writes } : { reads, writes }
}
