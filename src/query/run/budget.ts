// What a query may cost. Its text chooses the amount of work (a condition of thousands of LIKEs over a record of
// 2 MiB), so the work is counted as it is done. One unit is about one character looked at, or one value computed: a
// few nanoseconds. A query that spends more than its budget ends with the service's OperationTimedOut.
import { QueryError } from '../query-error.ts'

export type QueryLimits = {
  /** Of one row, which is evaluated without a pause. */
  readonly rowUnitsMax: number
  /** Of the whole query: so many, and more for each byte of the blob that it has read. */
  readonly baseUnits: number
  readonly unitsPerByte: number
  /** The time that it may keep its client waiting: the larger of the two. */
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

/** After so many units (10 to 40 ms) a query gives way to the others of its thread. */
const TURN_UNITS = 2_000_000
/** After so many units (about a second) without an answer the client gets a progress record. */
const SILENT_UNITS_MAX = 100_000_000
/** How often the limits are checked. */
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

  /** The query runs from here on, until `pause`: only what its client waits for counts. */
  resume(): void {
    this.#sinceMs = this.#clock()
  }

  pause(): void {
    this.#spentMs = this.#msSpent()
    this.#sinceMs = undefined
  }

  /** How far the blob has been read. */
  scanned(bytes: number): void {
    const { baseUnits, unitsPerByte, baseMs, msPerMib } = this.#limits
    this.#unitsMax = baseUnits + bytes * unitsPerByte
    this.#msMax = Math.max(baseMs, (bytes / MIB) * msPerMib)
  }

  beginRow(lengthBytes: number): void {
    this.#rowUnitsMax = this.#units + this.#limits.rowUnitsMax
    this.spend(ROW_UNITS + lengthBytes)
  }

  /** Throws a QueryError when the budget is spent. */
  spend(units: number): void {
    this.#units += units
    if (this.#units >= this.#checkAtUnits) this.#check()
  }

  /** Whether other queries should have their turn now; the next turn begins with the call. */
  isTurnOver(): boolean {
    if (this.#units < this.#turnAtUnits) return false
    this.#turnAtUnits = this.#units + TURN_UNITS
    return true
  }

  /** Whether the client should hear something: only a write shows that it has left. */
  isSilent(): boolean {
    return this.#units - this.#spokeAtUnits >= SILENT_UNITS_MAX
  }

  spoke(): void {
    this.#spokeAtUnits = this.#units
  }

  #check(): void {
    this.#checkAtUnits = this.#units + CHECK_UNITS
    const isSpent = this.#units > this.#unitsMax || this.#units > this.#rowUnitsMax
    if (isSpent || this.#msSpent() > this.#msMax) throw new QueryError('OperationTimedOut')
  }

  #msSpent(): number {
    return this.#spentMs + (this.#sinceMs === undefined ? 0 : this.#clock() - this.#sinceMs)
  }
}
