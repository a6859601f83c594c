// What engines share: writes that are kept beside the store. Those of a body until it has ended, so that one that
// throws has changed nothing and one that is run again starts clean; those of an engine until they are durable.
import assert from 'node:assert/strict'
import { compareKeys } from './key.ts'
import type { Entry, Key, Made, Picker, ReadTx, ScanRange, Step, Tx, Value } from './kv.ts'
import { pickEntries } from './scanned.ts'

/** `value` undefined: the key goes. */
export type Write = {
  readonly key: Key
  readonly value: Value | undefined
  readonly made?: Made | undefined
}

/** By the name of the key. */
export type Writes = ReadonlyMap<string, Write>

export const NO_WRITES: Writes = new Map()

export type BufferedTx = Tx & { writes(): Writes }

export function bufferWrites(store: ReadTx): BufferedTx {
  return new Buffered(store)
}

/** A store as it will be with the writes that wait beside it. */
export class WithWrites implements ReadTx {
  readonly #store: ReadTx
  /** Made by the first write: most transactions on live records write none. */
  protected pending: Map<string, Write> | undefined

  constructor(store: ReadTx) {
    this.#store = store
  }

  // No generators themselves where they can hand on another's: there are several layers, and many reads.
  get(key: Key): Step<Value | undefined> {
    const write = this.pending?.get(nameOf(key))
    return write === undefined ? this.#store.get(key) : always(write.value)
  }

  getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined> {
    const write = this.pending?.get(nameOf(key))
    return write === undefined ? this.#store.getWith(key, decode) : always(madeOf(write, decode))
  }

  scan(range: ScanRange): Step<readonly Entry[]> {
    const mine = this.#inside(range)
    return mine.length === 0 ? this.#store.scan(range) : this.#scanWith(mine, range)
  }

  *#scanWith(mine: readonly Write[], range: ScanRange): Step<readonly Entry[]> {
    const stored = yield* this.#store.scan({ ...range, countMax: range.countMax + mine.length })
    return merge(stored, mine, range)
  }

  *scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]> {
    if (this.#inside(range).length === 0) return yield* this.#store.scanWith(range, pick)
    return pickEntries(yield* this.scan(range), pick)
  }

  /** Names are in the order of their keys, and quicker to compare. */
  #inside(range: ScanRange): readonly Write[] {
    if (this.pending === undefined || this.pending.size === 0) return []
    const [from, to] = [nameOf(range.from), nameOf(range.to)]
    const found: Write[] = []
    for (const [name, write] of this.pending) if (name >= from && name < to) found.push(write)
    return found
  }

  has(name: string): boolean {
    return this.pending?.has(name) === true
  }

  /** Puts writes beside the store, over older ones of the same keys. */
  add(writes: Writes): void {
    this.pending ??= new Map()
    for (const [name, write] of writes) this.pending.set(name, write)
  }

  /** The store has them itself now; newer ones of the same keys stay. */
  remove(writes: Writes): void {
    for (const [name, write] of writes) {
      if (this.pending?.get(name) === write) this.pending.delete(name)
    }
  }

  /** They never happened. */
  clear(): void {
    this.pending = undefined
  }
}

function* always<T>(value: T): Step<T> {
  return value
}

function madeOf<T>({ value, made }: Write, decode: (value: Value) => T): T | undefined {
  if (made?.decode === decode) return made.made as T
  return value === undefined ? undefined : decode(value)
}

/** A class, because there is one for each transaction: its functions are made once. */
class Buffered extends WithWrites implements BufferedTx {
  put(key: Key, value: Value, made?: Made): void {
    this.#set({ key, value, made })
  }

  delete(key: Key): void {
    this.#set({ key, value: undefined, made: undefined })
  }

  writes(): Writes {
    return this.pending ?? NO_WRITES
  }

  #set(write: Write): void {
    this.pending ??= new Map()
    this.pending.set(nameOf(write.key), write)
  }
}

/** What a body yields where it may stop for a turn of the event loop (paced.ts). */
export const PAUSE = Symbol('pause')

/** For engines whose reads never wait: the body runs straight through. */
export function runStraight<T>(body: Step<T>): T {
  let result = body.next()
  while (result.done !== true && result.value === PAUSE) result = body.next()
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

/** A key as the text that a Map finds it by. The layers of a transaction ask for the same one after the other. */
export function nameOf(key: Key): string {
  if (key !== lastNamed) {
    // Not `buffer` of what is one already: to ask a small array for it takes microseconds.
    const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key)
    lastName = bytes.toString('latin1')
    lastNamed = key
  }
  return lastName
}

let lastNamed: Key | undefined
let lastName = ''
