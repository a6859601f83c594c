// Runs bodies if this process is the only writer and reads never wait. Each runs straight through, ahead of pending
// commits, and its reads are not recorded.
import assert from 'node:assert/strict'
import type { RecordCache } from '../cache.ts'
import { ABSENT, type Engine, type LocalReads } from '../engine/engine.ts'
import type { ReadTx, Step, Tx } from '../kv.ts'
import { Need, PAUSE } from '../step.ts'
import { BodyTx } from '../transaction.ts'
import { Turn } from '../turn.ts'
import { Known, ownedWrites } from './known.ts'
import { LocalView, SnapshotView, StoredReads } from './local-view.ts'
import { CommitQueue } from './queue.ts'

/** A longer read starts over on a snapshot, which wastes the work so far. Nearly all are shorter. */
const STRAIGHT_MS = 25

/**
 * A body that takes longer than a turn of the event loop gives way to others: a read starts over on a snapshot, which
 * it keeps from one turn to the next; a write goes on where it is, while other writes wait.
 */
export class LocalRunner<Event> {
  readonly #engine: Engine
  readonly #known = new Known()
  readonly #durable: LocalView
  readonly #ahead: LocalView
  readonly #queue: CommitQueue
  readonly #tell: (events: readonly Event[]) => void
  /** Reads and writes that take more than a turn of the event loop. */
  readonly #longWork = new Set<Promise<unknown>>()
  /** While a write is paused: the writes that wait for it. */
  #writesBehind: (() => void)[] | undefined

  constructor(
    engine: Engine,
    local: LocalReads,
    cache: RecordCache,
    tell: (events: readonly Event[]) => void,
  ) {
    this.#engine = engine
    const stored = new StoredReads(local, cache, this.#known)
    this.#durable = new LocalView(stored, this.#known, false)
    this.#ahead = new LocalView(stored, this.#known, true)
    this.#queue = new CommitQueue(engine, this.#known, cache)
    this.#tell = tell
  }

  /** `end` converts the outcome for the caller. */
  async read<T, R>(body: (tx: ReadTx) => Step<T>, end: (result: T | Need) => R): Promise<R> {
    // Durable and volatile records are out of step: the body reads ahead, like a write.
    const isAhead = this.#known.hasUnsettledVolatile
    const tx = new BodyTx<never>(isAhead ? this.#ahead : this.#durable)
    try {
      const steps = body(tx)
      let result = steps.next()
      if (isPause(result)) {
        const turn = new Turn(STRAIGHT_MS)
        while (isPause(result) && !turn.isOver()) result = steps.next()
        if (isPause(result)) return end(await this.#readLong(body))
      }
      if (tx.seen.size > 0) await this.#durableSeen(tx)
      return end(valueOf(result))
    } catch (error) {
      if (tx.seen.size > 0) await this.#durableSeen(tx)
      throw error
    }
  }

  /** Resolves when everything the body has seen is durable. */
  #durableSeen(tx: BodyTx<never>): Promise<void> {
    tx.discardWrites()
    return new Promise((resolve, reject) => this.#finish(tx, resolve, reject))
  }

  #readLong<T>(body: (tx: ReadTx) => Step<T>): Promise<T | Need> {
    return this.#track(new Turn().next().then(() => this.#readSnapshot(body)))
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#longWork.add(work)
    try {
      return await work
    } finally {
      this.#longWork.delete(work)
    }
  }

  async #readSnapshot<T>(body: (tx: ReadTx) => Step<T>): Promise<T | Need> {
    const { snapshot, volatile } = await this.#takeSnapshot()
    assert('release' in snapshot && snapshot.local !== undefined, 'local snapshots never wait')
    try {
      const view = new SnapshotView(snapshot.local, volatile)
      const steps = body(new BodyTx<never>(view))
      const turn = new Turn()
      let result = steps.next()
      while (isPause(result)) {
        if (turn.isOver()) await turn.next()
        result = steps.next()
      }
      return valueOf(result)
    } finally {
      snapshot.release()
    }
  }

  async #takeSnapshot() {
    for (;;) {
      const taken = await this.#queue.atRest(() =>
        this.#known.isOutrun
          ? undefined
          : { snapshot: this.#engine.snapshot(), volatile: this.#known.settledVolatile },
      )
      if (taken !== undefined) return taken
    }
  }

  write<T, R>(body: (tx: Tx<Event>) => Step<T>, end: (result: T | Need) => R): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#inTurn(() => this.#runWrite(body, (value) => resolve(end(value)), reject))
    })
  }

  #runWrite<T>(
    body: (tx: Tx<Event>) => Step<T>,
    settled: (value: T | Need) => void,
    fail: (error: unknown) => void,
  ): void {
    const tx = new BodyTx<Event>(this.#ahead)
    try {
      const steps = body(tx)
      let result = steps.next()
      if (isPause(result)) {
        const turn = new Turn()
        while (isPause(result) && !turn.isOver()) result = steps.next()
        if (isPause(result)) {
          this.#track(this.#writeLong(body, { tx, steps }, settled, fail)).catch(fail)
          return
        }
      }
      this.#finishWrite(tx, valueOf(result), settled, fail)
    } catch (error) {
      this.#finishFailed(tx, error, fail)
    }
  }

  /** Continues a body in later turns. No other body writes meanwhile, so what it has read does not change. */
  async #writeLong<T>(
    body: (tx: Tx<Event>) => Step<T>,
    begun: { readonly tx: BodyTx<Event>; readonly steps: Step<T> },
    settled: (value: T | Need) => void,
    fail: (error: unknown) => void,
  ): Promise<void> {
    this.#writesBehind = []
    let { tx, steps } = begun
    let { failureCount } = this.#queue
    const turn = new Turn()
    try {
      await turn.next()
      let result: IteratorResult<unknown, T>
      do {
        if (turn.isOver()) await turn.next()
        if (failureCount !== this.#queue.failureCount) {
          // It may have seen writes that were never stored.
          failureCount = this.#queue.failureCount
          tx = new BodyTx<Event>(this.#ahead)
          steps = body(tx)
        }
        result = steps.next()
      } while (isPause(result))
      this.#finishWrite(tx, valueOf(result), settled, fail)
    } catch (error) {
      this.#finishFailed(tx, error, fail)
    } finally {
      this.#runWritesBehind()
    }
  }

  /** If one of them pauses too, the rest keeps waiting. */
  #runWritesBehind(): void {
    const waiting = this.#writesBehind ?? []
    this.#writesBehind = undefined
    for (const run of waiting) this.#inTurn(run)
  }

  #inTurn(run: () => void): void {
    if (this.#writesBehind === undefined) run()
    else this.#writesBehind.push(run)
  }

  #finishWrite<T>(
    tx: BodyTx<Event>,
    value: T | Need,
    settled: (value: T | Need) => void,
    fail: (error: unknown) => void,
  ): void {
    if (value instanceof Need) tx.discardWrites()
    this.#finish(tx, () => settled(value), fail)
  }

  /** The error may depend on another body's write, which must be durable before anyone sees the error. */
  #finishFailed(tx: BodyTx<Event>, error: unknown, fail: (error: unknown) => void): void {
    tx.discardWrites()
    this.#finish(tx, () => fail(error), fail)
  }

  #finish(tx: BodyTx<Event>, settled: () => void, fail: (error: unknown) => void): void {
    const { writes, events, seen } = tx
    const volatileWrites = ownedWrites(tx.volatileWrites)
    const settle = (): void => {
      try {
        if (events.length > 0) this.#tell(events)
        settled()
      } catch (error) {
        // A listener failed; the transaction is committed all the same.
        fail(error)
      }
    }
    if (writes.size === 0 && seen.size === 0) {
      this.#known.applyVolatile(volatileWrites)
      return settle()
    }
    const { volatileReads } = tx
    const reads = volatileReads.length === 0 ? {} : { volatileReads }
    const run = { writes, volatileWrites, version: ABSENT, ...reads }
    this.#queue.add({ run, seen, settle, fail, retry: fail })
  }

  async settled(): Promise<void> {
    while (this.#longWork.size > 0) await Promise.allSettled(this.#longWork)
    await this.#queue.settled()
  }
}

function isPause<T>(result: IteratorResult<unknown, T>): result is IteratorYieldResult<unknown> {
  return result.done !== true && result.value === PAUSE
}

function valueOf<T>(result: IteratorResult<unknown, T>): T | Need {
  if (result.done === true) return result.value
  assert(result.value instanceof Need, 'a read of this engine waited')
  return result.value
}
