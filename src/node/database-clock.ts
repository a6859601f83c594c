// The database's clock, as every node of a cluster reads it. Each answer of the database has its time; between answers, the
// node's own monotonic clock goes on from there. The machine's wall clock does not matter.

/** How far two clocks may drift apart, in milliseconds per millisecond. */
const DRIFT = 0.000_5

type Estimate = {
  /** What to add to the node's own clock. */
  readonly offsetMs: number
  /** The database's clock is at most this far from the estimate. */
  readonly errorMs: number
  readonly takenMs: number
}

export class DatabaseClock {
  readonly #ownMs: () => number
  #best: Estimate | undefined

  constructor(ownMs: () => number = () => performance.now()) {
    this.#ownMs = ownMs
  }

  /** The database read its clock at some moment between `sentMs` and `receivedMs` of the node's own clock. */
  observe(databaseMs: number, sentMs: number, receivedMs: number): void {
    const errorMs = (receivedMs - sentMs) / 2
    const estimate = { offsetMs: databaseMs - sentMs - errorMs, errorMs, takenMs: receivedMs }
    if (this.#best === undefined || !isBetter(this.#best, estimate)) this.#best = estimate
  }

  /** Whole milliseconds since 1970. Known once the database has answered, which it has before anything is served. */
  nowMs(): number {
    if (this.#best === undefined) throw new Error("The database's time is not known yet.")
    return Math.floor(this.#ownMs() + this.#best.offsetMs)
  }
}

/** Whether the old estimate is still the more exact one. If the two contradict each other, a clock was set. */
function isBetter(old: Estimate, fresh: Estimate): boolean {
  const errorMs = old.errorMs + DRIFT * (fresh.takenMs - old.takenMs)
  const differenceMs = Math.abs(old.offsetMs - fresh.offsetMs)
  return errorMs < fresh.errorMs && differenceMs <= errorMs + fresh.errorMs
}
