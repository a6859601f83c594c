// What an import has done, and what it has left out.

export type Imported = {
  readonly counts: ReadonlyMap<string, number>
  /** Each with its reason. */
  readonly leftOut: readonly string[]
}

export type ImportProgress = { show(what: string, done: number, total: number): void }

/** Lines that are kept; the others are counted. */
const LINES_MAX = 1_000

export class ImportReport {
  readonly #counts = new Map<string, number>()
  readonly #leftOut: string[] = []
  readonly #totals: ReadonlyMap<string, number>
  readonly #progress: ImportProgress
  #moreCount = 0

  constructor(totals: ReadonlyMap<string, number>, progress: ImportProgress) {
    this.#totals = totals
    this.#progress = progress
  }

  count(what: string, by = 1): void {
    const done = (this.#counts.get(what) ?? 0) + by
    this.#counts.set(what, done)
    this.#progress.show(what, done, this.#totals.get(what) ?? done)
  }

  leaveOut(what: string, why: string): void {
    if (this.#leftOut.length < LINES_MAX) this.#leftOut.push(`${what}: ${why}`)
    else this.#moreCount += 1
  }

  result(): Imported {
    const more = this.#moreCount === 0 ? [] : [`… and ${this.#moreCount} more`]
    return { counts: this.#counts, leftOut: [...this.#leftOut, ...more] }
  }
}
