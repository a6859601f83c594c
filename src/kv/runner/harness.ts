// Test helpers for runners: an engine whose commits end when the test says so, and bodies that work on short texts.
import { NO_CACHE, type CacheLimits } from '../cache.ts'
import type { Engine, Transaction, Wanted } from '../engine/engine.ts'
import { turn } from '../engine/harness.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type EventKv, type Key, type ReadTx, type Step, type Tx } from '../kv.ts'
import { encodeRecord, type StoredRecord } from '../record.ts'
import { volatileKey } from '../volatile.ts'
import { openKv } from './runner.ts'

/** A local runner is its engine's only writer; a shared one has others beside it. */
export type RunnerKind = 'local' | 'shared'

export const RUNNER_KINDS: readonly RunnerKind[] = ['local', 'shared']

export type HeldCommit = {
  readonly transactions: readonly Transaction[]
  succeed(): Promise<void>
  fail(): Promise<void>
}

/** Long enough for a shared runner to collect the reads of a turn and send them. */
export async function roundTrip(): Promise<void> {
  await turn()
  await turn()
}

export function openEngine(kind: RunnerKind): Engine {
  return openMemoryEngine({ isShared: kind === 'shared' })
}

/** A runner whose commits wait for the test. Commits to `inner`, the engine itself, are those of another writer. */
export function openHeld(kind: RunnerKind, options: { readonly cache?: CacheLimits } = {}) {
  const inner = openEngine(kind)
  const after = kind === 'local' ? turn : roundTrip
  const commits: HeldCommit[] = []
  const reads: Wanted[] = []
  const counts = { alone: 0 }
  const engine: Engine = {
    ...inner,
    read: (wanted) => {
      reads.push(wanted)
      return inner.read(wanted)
    },
    alone: (work) => {
      counts.alone += 1
      return inner.alone(work)
    },
    commit: (transactions) =>
      new Promise((resolve, reject) => {
        const succeed = async (): Promise<void> => {
          resolve(await inner.commit(transactions))
          await after()
        }
        const fail = (): Promise<void> => {
          reject(new Error('the disk is full'))
          return after()
        }
        commits.push({ transactions, succeed, fail })
      }),
  }
  const kv: EventKv<string> = openKv<string>(engine, { cache: NO_CACHE, ...options })
  /** Lets every commit from this index on succeed, and those that follow from them. */
  const succeedAll = async (from: number): Promise<void> => {
    await after()
    for (let at = from; at < commits.length; at += 1) await commits[at]?.succeed()
  }
  return { kv, engine, inner, commits, reads, counts, succeedAll }
}

/** Records how a promise ends, in order. */
export function watch(outcomes: string[], name: string, promise: Promise<unknown>): void {
  promise.then(
    (value) => outcomes.push(`${name}: ${String(value)}`),
    (error: unknown) => outcomes.push(`${name} failed: ${String(error)}`),
  )
}

export const recordOf = (text: string): StoredRecord => encodeRecord({}, Buffer.from(text))

export function recordText(record: StoredRecord | undefined): string | undefined {
  return record && Buffer.from(record.bytes).toString()
}

export const keyOf = (name: string | number): Key => encodeKey('k', name)

export function put(key: Key, text: string) {
  return function* (tx: Tx<string>): Step<void> {
    tx.put(key, recordOf(text))
  }
}

export function get(key: Key) {
  return function* (tx: ReadTx): Step<string | undefined> {
    return recordText(yield* tx.get(key))
  }
}

/** Appends a letter to a text, and returns the new text. */
export function append(key: Key, letter: string) {
  return function* (tx: Tx<string>): Step<string> {
    const text = (recordText(yield* tx.get(key)) ?? '') + letter
    tx.put(key, recordOf(text))
    return text
  }
}

let version = 2 ** 50

/** A transaction of another writer. Without a text, it deletes the key. */
export function rivalWrite(key: Key, text: string | undefined): Transaction {
  version += 1
  const value = text === undefined ? undefined : recordOf(text).value
  return { writes: [{ key, value, version }] }
}

/** Blocks the thread, so that a body has to give way. */
export function spin(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

export const STORED = keyOf('file')
export const VOLATILE = volatileKey('open', 1)
export const OPENS = { ...prefixRange(volatileKey('open')), countMax: 9 }

/** Writes a stored and a volatile record. */
export function putBoth(text: string) {
  return function* (tx: Tx<string>): Step<void> {
    tx.put(STORED, recordOf(text))
    tx.put(VOLATILE, recordOf(text))
  }
}

export function* readBoth(tx: ReadTx): Step<string> {
  const stored = recordText(yield* tx.get(STORED))
  return `${stored} ${recordText(yield* tx.get(VOLATILE))}`
}

/** Like `readBoth`, in the other order. */
export function* readVolatileFirst(tx: ReadTx): Step<string> {
  const [held] = yield* tx.scan(OPENS)
  const stored = recordText(yield* tx.get(STORED))
  return `${stored} ${recordText(held?.value)}`
}
