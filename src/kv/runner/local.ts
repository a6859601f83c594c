// Runs bodies where this process is the only writer and reads never wait: each runs straight through, ahead of the
// commits that are under way, and nothing it reads is recorded.
import assert from 'node:assert/strict'
import type { RecordCache } from '../cache.ts'
import { ABSENT, type Engine, type LocalReads } from '../engine/engine.ts'
import type { ReadTx, Step, Tx } from '../kv.ts'
import { Need, PAUSE, runStraight } from '../step.ts'
import { BodyTx } from '../transaction.ts'
import { Turn } from '../turn.ts'
import { Known, ownedWrites } from './known.ts'
import { AheadView, DurableView, SnapshotView, StoredReads } from './local-view.ts'
import { CommitQueue } from './queue.ts'

/** A read longer than this starts over on a snapshot and then gives way; nearly all are shorter. */
const STRAIGHT_MS = 25

export class LocalRunner<Event> {
  readonly #engine: Engine
  readonly #known = new Known()
  readonly #durable: DurableView
  readonly #ahead: AheadView
  readonly #queue: CommitQueue
  readonly #tell: (events: readonly Event[]) => void

  constructor(
    engine: Engine,
    local: LocalReads,
    cache: RecordCache,
    tell: (events: readonly Event[]) => void,
  ) {
    this.#engine = engine
    const stored = new StoredReads(local, cache, this.#known)
    this.#durable = new DurableView(stored, this.#known)
    this.#ahead = new AheadView(stored, this.#known)
    this.#queue = new CommitQueue(engine, this.#known, cache)
    this.#tell = tell
  }

  /** `end` makes the outcome into what the caller gets. */
  async read<T, R>(body: (tx: ReadTx) => Step<T>, end: (result: T | Need) => R): Promise<R> {
    // Stored and volatile records would not fit together: the body reads ahead, as if it wrote.
    const isAhead = this.#known.hasUnsettledVolatile
    const tx = new BodyTx<never>(isAhead ? this.#ahead : this.#durable)
    try {
      const steps = body(tx)
      let result = steps.next()
      if (isPause(result)) {
        const turn = new Turn(STRAIGHT_MS)
        while (isPause(result) && !turn.isOver()) result = steps.next()
        if (isPause(result)) {
          await turn.next()
          return end(await this.#readSnapshot(body))
        }
      }
      if (tx.seen.size > 0) await this.#durableSeen(tx)
      return end(valueOf(result))
    } catch (error) {
      if (tx.seen.size > 0) await this.#durableSeen(tx)
      throw error
    }
  }

  /** When everything the body has seen is durable. */
  #durableSeen(tx: BodyTx<never>): Promise<void> {
    tx.discardWrites()
    return new Promise((resolve, reject) => this.#finish(tx, resolve, reject))
  }

  async #readSnapshot<T>(body: (tx: ReadTx) => Step<T>): Promise<T | Need> {
    const { snapshot, volatile } = await this.#queue.atRest(() => ({
      snapshot: this.#engine.snapshot(),
      volatile: this.#known.settledVolatile,
    }))
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

  write<T, R>(body: (tx: Tx<Event>) => Step<T>, end: (result: T | Need) => R): Promise<R> {
    return new Promise((resolve, reject) => {
      const tx = new BodyTx<Event>(this.#ahead)
      try {
        const value = runStraight(body(tx))
        if (value instanceof Need) tx.discardWrites()
        this.#finish(tx, () => resolve(end(value)), reject)
      } catch (error) {
        // It may have failed because of what another body has written: that must be durable first.
        tx.discardWrites()
        this.#finish(tx, () => reject(error), reject)
      }
    })
  }

  #finish(tx: BodyTx<Event>, settled: () => void, fail: (error: unknown) => void): void {
    const { writes, events, seen } = tx
    const volatileWrites = ownedWrites(tx.volatileWrites)
    const settle = (): void => {
      try {
        if (events.length > 0) this.#tell(events)
        settled()
      } catch (error) {
        // A listener failed: the transaction stands.
        fail(error)
      }
    }
    if (writes.size === 0 && seen.size === 0) {
      this.#known.applyVolatile(volatileWrites)
      return settle()
    }
    const run = { writes, volatileWrites, version: ABSENT, seen }
    this.#queue.add({ ...run, settle, fail, retry: fail })
  }

  settled(): Promise<void> {
    return this.#queue.settled()
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
