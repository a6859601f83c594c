// Runs bodies if others write to the same engine, or if reads wait. The reads of a body are recorded, and its commit
// checks them. A body that was overtaken runs again on the current values, and after several attempts alone.
import assert from 'node:assert/strict'
import type { RecordCache } from '../cache.ts'
import type { Engine, Version, WantedRange } from '../engine/engine.ts'
import { Exclusive } from '../engine/exclusive.ts'
import type { Key, ReadTx, Step, Tx } from '../kv.ts'
import { Need, PAUSE } from '../step.ts'
import { BodyTx } from '../transaction.ts'
import { Turn } from '../turn.ts'
import { Fetcher } from './fetcher.ts'
import { Known, ownedWrites } from './known.ts'
import { CommitQueue, type OvertakenRun } from './queue.ts'
import { EngineState, SharedView } from './shared-view.ts'
import { Wants, type Want } from './wants.ts'

/** Attempts before a body asks that nobody else commits. */
const ATTEMPTS_MAX = 4
/** More than there can be bodies that ran before. */
const ATTEMPTS_ALONE_MAX = 10_000
/** Round trips before a body that reads gets its own snapshot. */
const ROUNDS_MAX = 3
/**
 * After that, a body starts over only if it learns at least this much to fetch each time. Otherwise it is a walk, where
 * each read depends on the one before: it goes on after each fetch instead.
 */
const BATCH_COUNT_MIN = 16

type Outcome<T> = { readonly value: T | Need } | { readonly error: unknown }

/** `overtaken` is the state for the next attempt. */
type Overtaken = { readonly overtaken: EngineState }

/** A body that has run. */
type Attempt<Event, T> = {
  readonly tx: BodyTx<Event>
  readonly view: SharedView
  readonly outcome: Outcome<T>
  readonly state: EngineState
}

export class SharedRunner<Event> {
  readonly #engine: Engine
  readonly #cache: RecordCache
  readonly #known = new Known()
  readonly #queue: CommitQueue
  readonly #fetcher: Fetcher
  readonly #tell: (events: readonly Event[]) => void
  readonly #nextVersion: () => Version
  readonly #alone = new Exclusive()
  #aloneCount = 0
  /** While bodies run alone: resolves when others may continue. */
  #gate: Promise<void> | undefined
  #openGate: () => void = () => undefined
  readonly #running = new Set<Promise<unknown>>()

  constructor(
    engine: Engine,
    nextVersion: () => Version,
    cache: RecordCache,
    tell: (events: readonly Event[]) => void,
  ) {
    this.#engine = engine
    this.#cache = cache
    this.#queue = new CommitQueue(engine, this.#known, cache)
    this.#fetcher = new Fetcher(engine, cache)
    this.#tell = tell
    this.#nextVersion = nextVersion
  }

  /** `end` converts the outcome for the caller. */
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

  /** Each round fetches everything the body is known to read, from one state, and starts the body over. */
  async #read<T>(body: (tx: ReadTx) => Step<T>): Promise<T | Need> {
    const wants = new Wants(this.#cache)
    for (let round = 0; round <= ROUNDS_MAX; round += 1) {
      const state = new EngineState(this.#cache)
      await this.#fetch(wants, state)
      const missing = new Wants(this.#cache)
      const view = new SharedView(this.#known, state, 'durable', missing)
      const next = await untilFetch(body(new BodyTx<never>(view)), missing)
      // Only a commit can tell whether stored and volatile reads belong to the same moment.
      if (view.hasReadVolatile) return this.#write(body)
      if (missing.count === 0 && 'outcome' in next) return resultOf(next.outcome)
      wants.addAll(missing)
    }
    return this.#readSnapshot(body, wants)
  }

  async #readSnapshot<T>(body: (tx: ReadTx) => Step<T>, wants: Wants): Promise<T | Need> {
    const snapshot = await this.#engine.snapshot()
    try {
      const state = new EngineState(this.#cache)
      const read = async ({ keys, ranges }: WantLists): Promise<void> => {
        const found = await snapshot.read({ keys: keys.map((key) => ({ key })), ranges })
        state.learn(keys, ranges, found)
      }
      await read(wants)
      for (let isWalk = wants.count < BATCH_COUNT_MIN; ;) {
        const missing: Wants | undefined = isWalk ? undefined : new Wants(this.#cache)
        const view = new SharedView(this.#known, state, 'durable', missing)
        const steps = body(new BodyTx<never>(view))
        let next = await untilFetch(steps, missing)
        if (isWalk) {
          while (!('outcome' in next)) {
            await read(wantedOf(next.yielded as Want))
            next = await untilFetch(steps)
          }
        }
        if (view.hasReadVolatile) return await this.#write(body)
        if (missing === undefined || missing.count === 0) {
          assert('outcome' in next)
          return resultOf(next.outcome)
        }
        await read(missing)
        isWalk = missing.count < BATCH_COUNT_MIN
      }
    } finally {
      snapshot.release()
    }
  }

  async #fetch({ keys, ranges }: WantLists, state: EngineState): Promise<void> {
    if (keys.length + ranges.length === 0) return
    const { found, cached } = await this.#fetcher.fetch(keys, ranges)
    state.learn(keys, ranges, found, cached)
  }

  async #write<T>(body: (tx: Tx<Event>) => Step<T>): Promise<T | Need> {
    let state = new EngineState(this.#cache)
    for (let count = 0; count < ATTEMPTS_MAX; count += 1) {
      const finished = await this.#run(body, state, async (attempt) => {
        while (this.#gate !== undefined) await this.#gate
        return this.#finish(attempt)
      })
      if (!('overtaken' in finished)) return resultOf(finished)
      state = finished.overtaken
    }
    return this.#queue.alone(() => this.#writeAlone(body))
  }

  /**
   * Runs a body while nobody else commits. Those that were overtaken too often run one after another, on the writes of those
   * before, and are committed together; all other bodies of this process wait.
   */
  async #writeAlone<T>(body: (tx: Tx<Event>) => Step<T>): Promise<T | Need> {
    this.#aloneCount += 1
    this.#gate ??= new Promise((resolve) => (this.#openGate = resolve))
    try {
      let state = new EngineState(this.#cache)
      for (let count = 0; count < ATTEMPTS_ALONE_MAX; count += 1) {
        const { finishing } = await this.#alone.run(() =>
          this.#run(body, state, (attempt) => ({ finishing: this.#finish(attempt) })),
        )
        const finished = await finishing
        if (!('overtaken' in finished)) return resultOf(finished)
        // It has read the writes of a body that ran before and has been overtaken itself. That one waits now.
        state = finished.overtaken
      }
      return assert.fail('nobody else could write')
    } finally {
      this.#aloneCount -= 1
      if (this.#aloneCount === 0) {
        this.#gate = undefined
        this.#openGate()
      }
    }
  }

  /**
   * Runs a body to its end and fetches what it needs. `finish` follows in the same turn: if other bodies ran in between,
   * concurrent writers of one key would keep overtaking each other.
   */
  async #run<T, R>(
    body: (tx: Tx<Event>) => Step<T>,
    state: EngineState,
    finish: (attempt: Attempt<Event, T>) => R | Promise<R>,
  ): Promise<R> {
    let guesses: Wants | undefined = new Wants(this.#cache)
    for (let passes = 1; ; passes += 1) {
      const view = new SharedView(this.#known, state, 'ahead', guesses)
      const tx = new BodyTx<Event>(view)
      const steps = body(tx)
      const turn = new Turn()
      for (;;) {
        const next = nextOutcome(steps)
        if (guesses !== undefined && isGuessed(guesses, next, turn)) break
        if ('outcome' in next) {
          const { outcome } = next
          if ('error' in outcome || outcome.value instanceof Need) tx.discardWrites()
          return finish({ tx, view, state, outcome })
        }
        if (next.yielded !== PAUSE) await this.#fetch(wantedOf(next.yielded as Want), state)
        else if (turn.isOver()) await turn.next()
      }
      await this.#fetch(guesses, state)
      const isWalk: boolean = passes >= ROUNDS_MAX && guesses.count < BATCH_COUNT_MIN
      guesses = isWalk ? undefined : new Wants(this.#cache)
    }
  }

  /** The outcome, or the current state of its read set if it was overtaken. */
  async #finish<T>(attempt: Attempt<Event, T>): Promise<Outcome<T> | Overtaken> {
    const { tx, view, state, outcome } = attempt
    // Overtaken by another body of this process. The next attempt sees its writes.
    if (!view.isCurrent(tx.seen)) return { overtaken: state }
    // Others may have written to these since.
    for (const name of tx.volatileWrites.keys()) this.#known.touchVolatile(name, tx)
    const { writes, events, seen } = tx
    const volatileWrites = ownedWrites(tx.volatileWrites)
    const { reads } = view
    const hasReadStored = reads.keys.length + reads.ranges.length > 0
    if (writes.size === 0 && seen.size === 0 && isStanding()) {
      this.#known.applyVolatile(volatileWrites)
      this.#tell(events)
      return outcome
    }
    const run = { writes, volatileWrites, version: this.#nextVersion() }
    const overtaken = await new Promise<OvertakenRun | undefined>((resolve, reject) => {
      const settle = (): void => resolve(undefined)
      this.#queue.add({ run, seen, reads, settle, fail: reject, retry: resolve })
    })
    if (overtaken === undefined) {
      this.#tell(events)
      return outcome
    }
    const { current, isComplete } = overtaken
    return { overtaken: new EngineState(this.#cache, current, isComplete ? undefined : state) }

    /** Whether the outcome needs no commit: the body read one state of the store, or nothing from it. */
    function isStanding(): boolean {
      if (!hasReadStored) return true
      return state.isOneState && volatileWrites.length === 0 && !view.hasReadVolatile
    }
  }
}

function resultOf<T>(outcome: Outcome<T>): T | Need {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** Runs a body until it ends or has to fetch something. */
async function untilFetch<T>(steps: Step<T>, guesses?: Wants): Promise<Next<T>> {
  const turn = new Turn()
  for (;;) {
    const next = nextOutcome(steps)
    if (guesses !== undefined && isGuessed(guesses, next, turn)) return next
    if ('outcome' in next || next.yielded !== PAUSE) return next
    if (turn.isOver()) await turn.next()
  }
}

/** Whether a body that runs on guesses has told what it reads: it has ended, or read enough for one round trip. */
function isGuessed<T>(guesses: Wants, next: Next<T>, turn: Turn): boolean {
  return guesses.count > 0 && ('outcome' in next || next.yielded !== PAUSE || turn.isOver())
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

type WantLists = { readonly keys: readonly Key[]; readonly ranges: readonly WantedRange[] }

function wantedOf(want: Want): WantLists {
  return 'key' in want ? { keys: [want.key], ranges: [] } : { keys: [], ranges: [want.range] }
}
