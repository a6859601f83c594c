// What every engine shares: a transaction that keeps its writes beside the store until the body has
// ended. A body that throws has then changed nothing, and one that is run again starts clean.
import assert from 'node:assert/strict'
import { compareKeys } from './key.ts'
import type { Entry, Key, ReadTx, ScanRange, Step, Tx, Value } from './kv.ts'

/** `value` undefined: the key goes. */
export type Write = { readonly key: Key; readonly value: Value | undefined }

export type BufferedTx = Tx & { writes(): readonly Write[] }

export function bufferWrites(store: ReadTx): BufferedTx {
  return new Buffered(store)
}

/** A class, because there is one for each transaction: its functions are made once. */
class Buffered implements BufferedTx {
  readonly #store: ReadTx
  /** Made by the first write: most transactions on live records write none. */
  #pending: Map<string, Write> | undefined

  constructor(store: ReadTx) {
    this.#store = store
  }

  *get(key: Key): Step<Value | undefined> {
    const write = this.#pending?.get(nameOf(key))
    return write === undefined ? yield* this.#store.get(key) : write.value
  }

  *scan(range: ScanRange): Step<readonly Entry[]> {
    if (this.#pending === undefined) return yield* this.#store.scan(range)
    const mine = [...this.#pending.values()].filter((write) => isInside(write.key, range))
    const stored = yield* this.#store.scan({ ...range, countMax: range.countMax + mine.length })
    return merge(stored, mine, range)
  }

  *scanWith<T>(range: ScanRange, pick: (key: Key, value: Value) => T): Step<readonly T[]> {
    if (this.#pending === undefined) return yield* this.#store.scanWith(range, pick)
    return (yield* this.scan(range)).map(({ key, value }) => pick(key, value))
  }

  put(key: Key, value: Value): void {
    this.#set({ key, value })
  }

  delete(key: Key): void {
    this.#set({ key, value: undefined })
  }

  writes(): readonly Write[] {
    return this.#pending === undefined ? [] : [...this.#pending.values()]
  }

  #set(write: Write): void {
    this.#pending ??= new Map()
    this.#pending.set(nameOf(write.key), write)
  }
}

/** For engines whose reads never wait: the body runs straight through. */
export function runStraight<T>(body: Step<T>): T {
  const result = body.next()
  assert(result.done === true, 'a read of this engine waited')
  return result.value
}

/** For engines whose reads wait: each yields a promise and gets back what it came to. */
export async function runAwaiting<T>(body: Step<T>): Promise<T> {
  let result = body.next()
  while (result.done !== true) {
    let answer: unknown
    try {
      answer = await result.value
    } catch (error) {
      result = body.throw(error)
      continue
    }
    result = body.next(answer)
  }
  return result.value
}

export function isInside(key: Key, range: ScanRange): boolean {
  return compareKeys(range.from, key) <= 0 && compareKeys(key, range.to) < 0
}

function merge(stored: readonly Entry[], mine: readonly Write[], range: ScanRange): Entry[] {
  const overridden = new Set(mine.map((write) => nameOf(write.key)))
  const kept = stored.filter((entry) => !overridden.has(nameOf(entry.key)))
  for (const { key, value } of mine) if (value !== undefined) kept.push({ key, value })
  const direction = range.reverse === true ? -1 : 1
  kept.sort((a, b) => direction * compareKeys(a.key, b.key))
  return kept.slice(0, range.countMax)
}

/** A key as the text that a Map finds it by. */
export function nameOf(key: Key): string {
  const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength)
  return bytes.toString('latin1')
}
