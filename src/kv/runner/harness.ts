// For tests of runners: an engine whose commits end when the test says so, and bodies that work on short texts.
import { NO_CACHE, type CacheLimits } from '../cache.ts'
import type { Engine, Transaction, Wanted } from '../engine/engine.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import type { EventKv, Key, ReadTx, Step, Tx } from '../kv.ts'
import { encodeRecord, type StoredRecord } from '../record.ts'
import { openKv } from './runner.ts'

/** A runner is alone with its engine, or shares it with others. */
export type RunnerKind = 'local' | 'shared'

export const RUNNER_KINDS: readonly RunnerKind[] = ['local', 'shared']

export type HeldCommit = {
  readonly transactions: readonly Transaction[]
  succeed(): Promise<void>
  fail(): Promise<void>
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export function openEngine(kind: RunnerKind): Engine {
  return openMemoryEngine({ isShared: kind === 'shared' })
}

/** `inner` is the engine itself: what is committed there comes from somebody else. */
export function openHeld(kind: RunnerKind, options: { readonly cache?: CacheLimits } = {}) {
  const inner = openEngine(kind)
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
          await turn()
        }
        const fail = (): Promise<void> => {
          reject(new Error('the disk is full'))
          return turn()
        }
        commits.push({ transactions, succeed, fail })
      }),
  }
  const kv: EventKv<string> = openKv<string>(engine, { cache: NO_CACHE, ...options })
  /** Lets all commits succeed, and those that follow them. */
  const succeedAll = async (from: number): Promise<void> => {
    await turn()
    for (let at = from; at < commits.length; at += 1) await commits[at]?.succeed()
  }
  return { kv, engine, inner, commits, reads, counts, succeedAll }
}

/** Keeps in `told` what becomes of a promise, in the order in which it is told. */
export function watch(told: string[], name: string, promise: Promise<unknown>): void {
  promise.then(
    (value) => told.push(`${name}: ${String(value)}`),
    (error: unknown) => told.push(`${name} failed: ${String(error)}`),
  )
}

export const recordOf = (text: string): StoredRecord => encodeRecord({}, Buffer.from(text))

export function textOf(record: StoredRecord | undefined): string | undefined {
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
    return textOf(yield* tx.get(key))
  }
}

/** Adds a letter to a text, and returns all of it. */
export function append(key: Key, letter: string) {
  return function* (tx: Tx<string>): Step<string> {
    const text = (textOf(yield* tx.get(key)) ?? '') + letter
    tx.put(key, recordOf(text))
    return text
  }
}

let version = 2 ** 50

/** A transaction of somebody else, as its writes: no text deletes the key. */
export function rivalWrite(key: Key, text: string | undefined): Transaction {
  version += 1
  const value = text === undefined ? undefined : recordOf(text).value
  return { writes: [{ key, value, version }] }
}

/** Work that takes so long that a body has to give way. */
export function spin(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}
