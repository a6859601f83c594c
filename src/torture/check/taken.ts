// Which calls a search has put in order so far, and which may come next: those that began before any other that is left had
// ended. Calls without an answer are tried last, and alike ones only in the order in which they began.
import type { Call } from '../history/call.ts'

export class Taken {
  /** By their beginning; those with an answer come first. */
  readonly calls: readonly Call[]
  readonly #answeredCount: number
  readonly #isTaken: Uint8Array
  /** The last call before each that has the same effect and no answer either. */
  readonly #twins: readonly (number | undefined)[]
  /** All answered calls before it are taken. */
  #low = 0
  #takenCount = 0

  constructor(calls: readonly Call[]) {
    const ordered = [...calls].sort((a, b) => a.began - b.began)
    const answered = ordered.filter(({ answer }) => answer !== undefined)
    this.calls = [...answered, ...ordered.filter(({ answer }) => answer === undefined)]
    this.#answeredCount = answered.length
    this.#isTaken = new Uint8Array(this.calls.length)
    const last = new Map<string, number>()
    this.#twins = this.calls.map(({ answer, operation, ended }, at) => {
      if (answer !== undefined) return undefined
      const kind = `${ended} ${JSON.stringify(operation)}`
      const twin = last.get(kind)
      last.set(kind, at)
      return twin
    })
  }

  /** Every answered call is taken. */
  get isComplete(): boolean {
    return this.#low === this.#answeredCount
  }

  first(): number | undefined {
    return this.#from(this.#low)
  }

  after(at: number): number | undefined {
    return this.#from(at + 1)
  }

  take(at: number): void {
    this.#isTaken[at] = 1
    this.#takenCount += 1
    while (this.#low < this.#answeredCount && this.#isTaken[this.#low] === 1) this.#low += 1
  }

  undo(at: number): void {
    this.#isTaken[at] = 0
    this.#takenCount -= 1
    if (at < this.#low) this.#low = at
  }

  /** Names what is taken. */
  key(): string {
    let key = String(this.#low)
    let left = this.#takenCount - this.#low
    for (let at = this.#low; left > 0 && at < this.calls.length; at += 1) {
      if (this.#isTaken[at] !== 1) continue
      key += `,${at}`
      left -= 1
    }
    return key
  }

  #from(start: number): number | undefined {
    const limit = this.#earliestEnd()
    for (let at = start; at < this.calls.length; at += 1) {
      if (this.#isTaken[at] === 1) continue
      const isLate = (this.calls[at]?.began ?? Infinity) > limit
      if (isLate && at < this.#answeredCount) {
        // Later ones began later.
        at = this.#answeredCount - 1
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

  /** Of the answered calls that are left. */
  #earliestEnd(): number {
    let earliest = Infinity
    for (let at = this.#low; at < this.#answeredCount; at += 1) {
      const call = this.calls[at]
      if (call === undefined || call.began > earliest) break
      if (this.#isTaken[at] !== 1) earliest = Math.min(earliest, call.ended)
    }
    return earliest
  }
}
