// A runner runs transaction bodies over an engine. A body sees the engine's state, pending writes and volatile records.
// When it ends, its writes join the next commit. No caller hears of an outcome, good or bad, before everything the body
// has seen is durable.
import assert from 'node:assert/strict'
import { RecordCache, type CacheLimits } from '../cache.ts'
import type { Engine, Version } from '../engine/engine.ts'
import type { Attempted, EventKv } from '../kv.ts'
import { Need } from '../step.ts'
import { LocalRunner } from './local.ts'
import { SharedRunner } from './shared.ts'

export type RunnerOptions = {
  readonly cache?: CacheLimits
  /** Versions for its writes; no two runners of an engine may use the same. By default, the engine has one runner. */
  readonly nextVersion?: () => Version
  /** Other runners use the engine too: `close` leaves it open. */
  readonly keepsEngine?: boolean
}

/** `number` is unique among all runners of the store, past and present. */
export function versionsOf(number: number): () => Version {
  let version = number * 2 ** 32
  return () => (version += 1)
}

export function openKv<Event = never>(engine: Engine, options: RunnerOptions = {}): EventKv<Event> {
  const listeners = new Set<(event: Event) => void>()
  const tell = (events: readonly Event[]): void => {
    for (const event of events) for (const listener of listeners) listener(event)
  }
  const cache = new RecordCache(options.cache)
  const runner =
    engine.local === undefined
      ? new SharedRunner<Event>(engine, options.nextVersion ?? versionsOf(1), cache, tell)
      : new LocalRunner<Event>(engine, engine.local, cache, tell)
  return {
    read: (body) => runner.read(body, requireValue),
    write: (body) => runner.write(body, requireValue),
    attemptRead: (body) => runner.read(body, attempted),
    attempt: (body) => runner.write(body, attempted),
    listen: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    sizeBytes: () => engine.sizeBytes(),
    close: async () => {
      await runner.settled()
      if (options.keepsEngine !== true) await engine.close()
    },
  }
}

function requireValue<T>(result: T | Need): T {
  assert(!(result instanceof Need), 'a body yielded a need; run it with attempt')
  return result
}

function attempted<T>(result: T | Need): Attempted<T> {
  return result instanceof Need ? { need: result.what } : { value: result }
}
