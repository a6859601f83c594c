// Limits the cost of a query. The query's text determines the amount of work (say, thousands of LIKEs over a record of
// 2 MiB), so work is counted as it is done. One unit is about one character scanned or one value computed: a few
// nanoseconds. A query that exceeds its budget ends with the service's OperationTimedOut.
import { QueryError } from '../query-error.ts'

export type QueryLimits = {
  /** Per row; rows are evaluated without a pause. */
  readonly rowUnitsMax: number
  /** For the whole query: a base, plus an amount per byte read. */
  readonly baseUnits: number
  readonly unitsPerByte: number
  /** How long the client may be kept waiting: the larger of the two. */
  readonly baseMs: number
  readonly msPerMib: number
}

// "Setting timeouts for Blob service operations": 30 seconds, and for reads of a blob 2 minutes for each MiB.
export const QUERY_LIMITS: QueryLimits = {
  rowUnitsMax: 100_000_000,
  baseUnits: 1_000_000_000,
  unitsPerByte: 2_000,
  baseMs: 30_000,
  msPerMib: 120_000,
}

/** After this many units (10 to 40 ms) a query yields to the others in its thread. */
const TURN_UNITS = 2_000_000
/** After this many units (about a second) without output the client gets a progress record. */
const SILENT_UNITS_MAX = 100_000_000
/** Units between two checks of the limits. */
const CHECK_UNITS = 65_536
const ROW_UNITS = 16
const MIB = 1024 * 1024

export class Budget {
  readonly #limits: QueryLimits
  readonly #clock: () => number
  #units = 0
  #unitsMax = 0
  #rowUnitsMax = Infinity
  #checkAtUnits = 0
  #turnAtUnits = TURN_UNITS
  #spokeAtUnits = 0
  #spentMs = 0
  #msMax = 0
  #sinceMs: number | undefined

  constructor(limits: QueryLimits, clock: () => number) {
    this.#limits = limits
    this.#clock = clock
    this.scanned(0)
  }

  /** Starts the clock, until `pause`: only time that the client spends waiting counts. */
  resume(): void {
    this.#sinceMs = this.#clock()
  }

  pause(): void {
    this.#spentMs = this.#msSpent()
    this.#sinceMs = undefined
  }

  /** Sets how many bytes of the blob have been read. */
  scanned(bytes: number): void {
    const { baseUnits, unitsPerByte, baseMs, msPerMib } = this.#limits
    this.#unitsMax = baseUnits + bytes * unitsPerByte
    this.#msMax = Math.max(baseMs, (bytes / MIB) * msPerMib)
  }

  beginRow(lengthBytes: number): void {
    this.#rowUnitsMax = this.#units + this.#limits.rowUnitsMax
    this.spend(ROW_UNITS + lengthBytes)
  }

  /** Throws a QueryError if the budget is exceeded. */
  spend(units: number): void {
    this.#units += units
    if (this.#units >= this.#checkAtUnits) this.#check()
  }

  /** Whether this query should yield to others now; if so, its next turn starts. */
  isTurnOver(): boolean {
    if (this.#units < this.#turnAtUnits) return false
    this.#turnAtUnits = this.#units + TURN_UNITS
    return true
  }

  /** Whether it is time to send something: only a write detects that the client has disconnected. */
  isSilent(): boolean {
    return this.#units - this.#spokeAtUnits >= SILENT_UNITS_MAX
  }

  spoke(): void {
    this.#spokeAtUnits = this.#units
  }

  #check(): void {
    this.#checkAtUnits = this.#units + CHECK_UNITS
    const isExceeded = this.#units > this.#unitsMax || this.#units > this.#rowUnitsMax
    if (isExceeded || this.#msSpent() > this.#msMax) throw new QueryError('OperationTimedOut')
  }

  #msSpent(): number {
    return this.#spentMs + (this.#sinceMs === undefined ? 0 : this.#clock() - this.#sinceMs)
  }
}
