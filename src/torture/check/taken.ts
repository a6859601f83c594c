// Which calls a search has put in order so far, and which may come next: those that began before any other that is left had
// ended. Calls that may not have happened are tried last, and alike ones only in the order in which they began.
import type { Call } from '../history/call.ts'
import { deadlinesOf } from './deadline.ts'

export class Taken {
  /** By their beginning; those that have certainly happened come first. */
  readonly calls: readonly Call[]
  /** Until when each has happened. */
  readonly #ends: readonly number[]
  readonly #certainCount: number
  readonly #isTaken: Uint8Array
  /** The last call before each that has the same effect and may not have happened either. */
  readonly #twins: readonly (number | undefined)[]
  /** All certain calls before it are taken. */
  #low = 0
  /** Of the certain ones. */
  #takenCount = 0
  #others = 0n

  constructor(given: readonly Call[]) {
    const deadlines = deadlinesOf(given)
    const endOf = (call: Call): number => deadlines.get(call) ?? Infinity
    const ordered = [...given].sort((a, b) => a.began - b.began)
    const certain = ordered.filter((call) => endOf(call) < Infinity)
    this.calls = [...certain, ...ordered.filter((call) => endOf(call) === Infinity)]
    this.#ends = this.calls.map(endOf)
    this.#certainCount = certain.length
    this.#isTaken = new Uint8Array(this.calls.length)
    const last = new Map<string, number>()
    this.#twins = this.calls.map(({ operation, ended }, at) => {
      if (at < this.#certainCount) return undefined
      const kind = `${ended} ${JSON.stringify(operation)}`
      const twin = last.get(kind)
      last.set(kind, at)
      return twin
    })
  }

  /** Every call that has certainly happened is taken. */
  get isComplete(): boolean {
    return this.#low === this.#certainCount
  }

  first(): number | undefined {
    return this.#from(this.#low)
  }

  after(at: number): number | undefined {
    return this.#from(at + 1)
  }

  take(at: number): void {
    this.#mark(at, true)
    while (this.#low < this.#certainCount && this.#isTaken[this.#low] === 1) this.#low += 1
  }

  undo(at: number): void {
    this.#mark(at, false)
    if (at < this.#low) this.#low = at
  }

  /** Of the calls that have certainly happened. */
  get count(): number {
    return this.#takenCount
  }

  /** The calls of which one must come next. */
  next(): readonly Call[] {
    const calls: Call[] = []
    for (let at = this.first(); at !== undefined; at = this.after(at)) {
      const call = this.calls[at]
      if (call !== undefined) calls.push(call)
    }
    return calls
  }

  /** Names the certain calls that are taken. */
  key(): string {
    let key = String(this.#low)
    let left = this.#takenCount - this.#low
    for (let at = this.#low; left > 0 && at < this.#certainCount; at += 1) {
      if (this.#isTaken[at] !== 1) continue
      key += `,${at}`
      left -= 1
    }
    return key
  }

  /** The others that are taken, as bits. */
  get others(): bigint {
    return this.#others
  }

  #mark(at: number, isTaken: boolean): void {
    this.#isTaken[at] = isTaken ? 1 : 0
    if (at < this.#certainCount) this.#takenCount += isTaken ? 1 : -1
    else this.#others ^= 1n << BigInt(at - this.#certainCount)
  }

  #from(start: number): number | undefined {
    const limit = this.#earliestEnd()
    for (let at = start; at < this.calls.length; at += 1) {
      if (this.#isTaken[at] === 1) continue
      const isLate = (this.calls[at]?.began ?? Infinity) > limit
      if (isLate && at < this.#certainCount) {
        // Later ones began later.
        at = this.#certainCount - 1
        continue
      }
      if (!isLate && !this.#isAfterTwin(at)) return at
    }
    return undefined
  }

  #isAfterTwin(at: number): boolean {
    const twin = this.#twins[at]
    return twin !== undefined && this.#isTaken[twin] !== 1
  }

  /** Of the certain calls that are left. */
  #earliestEnd(): number {
    let earliest = Infinity
    for (let at = this.#low; at < this.#certainCount; at += 1) {
      const call = this.calls[at]
      if (call === undefined || call.began > earliest) break
      if (this.#isTaken[at] !== 1) earliest = Math.min(earliest, this.#ends[at] ?? Infinity)
    }
    return earliest
  }
}
