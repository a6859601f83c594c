// Runs bodies where others write to the same engine, or where reads wait. What a body reads is recorded and checked
// by its commit. A body that was overtaken runs again on the current values; one that is overtaken again and again
// runs alone.
import assert from 'node:assert/strict'
import type { RecordCache } from '../cache.ts'
import type { Engine, Transaction, Verdict, Version, WantedRange } from '../engine/engine.ts'
import { Exclusive } from '../engine/exclusive.ts'
import type { Key, ReadTx, Step, Tx } from '../kv.ts'
import { Need, PAUSE } from '../step.ts'
import { BodyTx } from '../transaction.ts'
import { Turn } from '../turn.ts'
import { Fetcher } from './fetcher.ts'
import { Known, ownedWrites } from './known.ts'
import { CommitQueue } from './queue.ts'
import { EngineState, SharedView, type Want } from './shared-view.ts'

/** Attempts of a body that others overtake, before it runs alone. */
const ATTEMPTS_MAX = 8
/** Round trips of a read body, before it gets a snapshot of its own. */
const ROUNDS_MAX = 3

type Outcome<T> = { readonly value: T | Need } | { readonly error: unknown }

/** A body that has run. */
type Attempt<Event, T> = {
  readonly tx: BodyTx<Event>
  readonly view: SharedView
  readonly outcome: Outcome<T>
  /** Nothing it has read can have changed between two reads. */
  readonly isOneState: boolean
}

export class SharedRunner<Event> {
  readonly #engine: Engine
  readonly #cache: RecordCache
  readonly #known = new Known()
  readonly #queue: CommitQueue
  readonly #fetcher: Fetcher
  readonly #tell: (events: readonly Event[]) => void
  readonly #running = new Set<Promise<unknown>>()
  readonly #starving = new Exclusive()
  /** While a body runs alone: when others may go on. */
  #gate: Promise<void> | undefined
  #version: Version

  constructor(
    engine: Engine,
    number: number,
    cache: RecordCache,
    tell: (events: readonly Event[]) => void,
  ) {
    this.#engine = engine
    this.#cache = cache
    this.#queue = new CommitQueue(engine, this.#known, cache)
    this.#fetcher = new Fetcher(engine, cache)
    this.#tell = tell
    this.#version = number * 2 ** 32
  }

  /** `end` makes the outcome into what the caller gets. */
  read<T, R>(body: (tx: ReadTx) => Step<T>, end: (result: T | Need) => R): Promise<R> {
    return this.#track(this.#read(body).then(end))
  }

  write<T, R>(body: (tx: Tx<Event>) => Step<T>, end: (result: T | Need) => R): Promise<R> {
    return this.#track(this.#write(body).then(end))
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
    await this.#queue.settled()
  }

  async #track<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Each round reads all that the body is known to need, in one state; then the body starts over. */
  async #read<T>(body: (tx: ReadTx) => Step<T>): Promise<T | Need> {
    let state = new EngineState(this.#cache)
    for (let round = 0; round <= ROUNDS_MAX; round += 1) {
      const view = new SharedView(this.#known, state, 'durable')
      const next = runKnown(body(new BodyTx<never>(view)))
      // Only a commit can tell whether stored and volatile records are of one moment.
      if (view.hasReadVolatile) return this.#write(body)
      if ('outcome' in next) return resultOf(next.outcome)
      const want = next.yielded as Want
      const keys = [...state.keys.values()].map(({ key }) => key)
      const ranges = [...state.ranges.values()].map(({ range }) => range)
      if ('key' in want) keys.push(want.key)
      else ranges.push(want.range)
      state = await this.#fetch(keys, ranges)
    }
    return this.#readSnapshot(body)
  }

  async #fetch(keys: readonly Key[], ranges: readonly WantedRange[]): Promise<EngineState> {
    const state = new EngineState(this.#cache)
    const { found, cached } = await this.#fetcher.fetch(keys, ranges)
    state.learn(keys, ranges, found, cached)
    return state
  }

  async #readSnapshot<T>(body: (tx: ReadTx) => Step<T>): Promise<T | Need> {
    const snapshot = await this.#engine.snapshot()
    try {
      const state = new EngineState(this.#cache)
      const view = new SharedView(this.#known, state, 'durable')
      const steps = body(new BodyTx<never>(view))
      const turn = new Turn()
      let next = nextOutcome(steps)
      while (!('outcome' in next)) {
        if (next.yielded === PAUSE) {
          if (turn.isOver()) await turn.next()
        } else {
          const { keys, ranges } = wantedOf(next.yielded as Want)
          const found = await snapshot.read({ keys: keys.map((key) => ({ key })), ranges })
          state.learn(keys, ranges, found)
        }
        next = nextOutcome(steps)
      }
      if (view.hasReadVolatile) return await this.#write(body)
      return resultOf(next.outcome)
    } finally {
      snapshot.release()
    }
  }

  async #write<T>(body: (tx: Tx<Event>) => Step<T>): Promise<T | Need> {
    let state = new EngineState(this.#cache)
    for (let count = 0; count < ATTEMPTS_MAX; count += 1) {
      const attempt = await this.#run(body, state)
      while (this.#gate !== undefined) await this.#gate
      const overtaken = await this.#finish(attempt)
      if (overtaken === undefined) return resultOf(attempt.outcome)
      state = overtaken
    }
    return this.#starving.run(() => this.#runAlone(body))
  }

  /** Runs a body to its end, fetching what it needs on the way. */
  async #run<T>(body: (tx: Tx<Event>) => Step<T>, state: EngineState): Promise<Attempt<Event, T>> {
    const view = new SharedView(this.#known, state, 'ahead')
    const tx = new BodyTx<Event>(view)
    const turn = new Turn()
    let fetchCount = state.keys.size + state.ranges.size > 0 ? 1 : 0
    let outcome: Outcome<T> | undefined
    const steps = body(tx)
    while (outcome === undefined) {
      const next = nextOutcome(steps)
      if ('outcome' in next) {
        outcome = next.outcome
      } else if (next.yielded === PAUSE) {
        if (turn.isOver()) await turn.next()
      } else {
        const { keys, ranges } = wantedOf(next.yielded as Want)
        const { found, cached } = await this.#fetcher.fetch(keys, ranges)
        state.learn(keys, ranges, found, cached)
        fetchCount += 1
      }
    }
    if ('error' in outcome || outcome.value instanceof Need) tx.discardWrites()
    return { tx, view, outcome, isOneState: fetchCount <= 1 }
  }

  /** Undefined when its outcome stands; otherwise what it has read as it is now. */
  async #finish<T>({ tx, view, isOneState }: Attempt<Event, T>): Promise<EngineState | undefined> {
    if (!view.isCurrent(tx.seen)) return new EngineState(this.#cache)
    const { writes, events, seen } = tx
    const volatileWrites = ownedWrites(tx.volatileWrites)
    const { reads } = view
    const hasReadStored = reads.keys.length + reads.ranges.length > 0
    if (writes.size === 0 && seen.size === 0 && isStanding()) {
      this.#known.applyVolatile(volatileWrites)
      this.#tell(events)
      return undefined
    }
    this.#version += 1
    const run = { writes, volatileWrites, version: this.#version, seen, reads }
    const verdict = await new Promise<Verdict | undefined>((resolve, reject) => {
      this.#queue.add({ ...run, settle: () => resolve('committed'), fail: reject, retry: resolve })
    })
    if (verdict === 'committed') {
      this.#tell(events)
      return undefined
    }
    return this.#current(reads, verdict)

    /** Whether nothing has to be asked of the engine: it read one state of the store, or nothing stored at all. */
    function isStanding(): boolean {
      if (!hasReadStored) return true
      return isOneState && volatileWrites.length === 0 && !view.hasReadVolatile
    }
  }

  #current(reads: SharedView['reads'], verdict: Verdict | undefined): EngineState {
    const state = new EngineState(this.#cache)
    if (verdict === undefined || verdict === 'committed') return state
    const keys = reads.keys.map(({ key }) => key)
    const ranges = reads.ranges.map(({ range }) => range)
    state.learn(keys, ranges, verdict.current)
    return state
  }

  /** Others wait until the body has committed: nobody can overtake it. */
  async #runAlone<T>(body: (tx: Tx<Event>) => Step<T>): Promise<T | Need> {
    let open = (): void => {}
    this.#gate = new Promise((resolve) => {
      open = resolve
    })
    try {
      await this.#queue.settled()
      return await this.#engine.alone(async (commit) => {
        const { tx, view, outcome } = await this.#run(body, new EngineState(this.#cache))
        this.#version += 1
        const transaction = { reads: view.reads, writes: this.#writesOf(tx) }
        const [verdict] = await commit([transaction])
        assert(verdict === 'committed' && view.isCurrent(tx.seen), 'nobody else could write')
        for (const name of tx.writes.keys()) this.#cache.drop(name)
        this.#known.applyVolatile(ownedWrites(tx.volatileWrites))
        this.#tell(tx.events)
        return resultOf(outcome)
      })
    } finally {
      this.#gate = undefined
      open()
    }
  }

  #writesOf(tx: BodyTx<Event>): Transaction['writes'] {
    return [...tx.writes.values()].map(({ key, value }) => {
      return { key, value: value?.value, version: this.#version }
    })
  }
}

function resultOf<T>(outcome: Outcome<T>): T | Need {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** Runs a body until it ends or needs something that is not known. */
function runKnown<T>(steps: Step<T>): Next<T> {
  for (;;) {
    const next = nextOutcome(steps)
    if ('outcome' in next || next.yielded !== PAUSE) return next
  }
}

type Next<T> = { readonly outcome: Outcome<T> } | { readonly yielded: unknown }

function nextOutcome<T>(steps: Step<T>): Next<T> {
  try {
    const result = steps.next()
    if (result.done === true) return { outcome: { value: result.value } }
    const { value } = result
    return value instanceof Need ? { outcome: { value } } : { yielded: value }
  } catch (error) {
    return { outcome: { error } }
  }
}

function wantedOf(want: Want): { readonly keys: readonly Key[]; ranges: readonly WantedRange[] } {
  return 'key' in want ? { keys: [want.key], ranges: [] } : { keys: [], ranges: [want.range] }
}
