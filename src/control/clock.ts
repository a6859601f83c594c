// The clock of a server, which people can hold, advance and set. Leases, visibility and expiry are compared with it when
// they are read. What waits for a time (the end of a break, of a durable handle) waits on the timers of this clock.
import { setImmediate } from 'node:timers/promises'
import type { ClockApi, ClockState } from './api.ts'
import { ControlError } from './control-error.ts'
import { checkTime, decodeDuration, decodeTime } from './time.ts'

type Timer = {
  readonly dueMs: number
  readonly fire: () => unknown
  /** Only while the clock runs. */
  timeout: NodeJS.Timeout | undefined
}

/** setTimeout fires at once if the delay is longer. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

export class ControlledClock {
  /** The clock underneath, on which nobody here has any influence. */
  readonly base: () => number
  #offsetMs = 0
  /** undefined: it runs. */
  #heldMs: number | undefined
  readonly #timers = new Set<Timer>()

  constructor(base: () => number, { isHeld }: { readonly isHeld: boolean }) {
    this.base = base
    if (isHeld) this.#heldMs = base()
  }

  /** Another clock that shows the same time, and stands still if this one does. */
  copy(): ControlledClock {
    const copy = new ControlledClock(this.base, { isHeld: false })
    copy.#offsetMs = this.#offsetMs
    copy.#heldMs = this.#heldMs
    return copy
  }

  readonly now = (): number => this.#heldMs ?? this.base() + this.#offsetMs

  /** Calls `then` when this clock has gone on by the delay. Returns a function that cancels it. */
  readonly after = (delayMs: number, then: () => unknown): (() => void) => {
    const timer: Timer = {
      dueMs: this.now() + Math.max(1, delayMs),
      fire: then,
      timeout: undefined,
    }
    this.#timers.add(timer)
    if (this.#heldMs === undefined) this.#arm(timer)
    return () => this.#drop(timer)
  }

  get state(): ClockState {
    const nowMs = this.now()
    return {
      now: new Date(nowMs).toISOString(),
      isHeld: this.#heldMs !== undefined,
      offsetMs: Math.round(nowMs - this.base()),
    }
  }

  hold(): void {
    this.#heldMs ??= this.now()
    for (const timer of this.#timers) clearTimeout(timer.timeout)
  }

  run(): void {
    if (this.#heldMs === undefined) return
    this.#offsetMs = this.#heldMs - this.base()
    this.#heldMs = undefined
    for (const timer of this.#timers) this.#arm(timer)
  }

  /** Fires the timers that are due on the way, in their order, each at its time; those that they start as well. */
  async moveTo(targetMs: number): Promise<void> {
    for (let next = this.#firstDue(targetMs); next; next = this.#firstDue(targetMs)) {
      this.#show(Math.max(next.dueMs, this.now()))
      this.#drop(next)
      await next.fire()
      await setImmediate()
    }
    this.#show(targetMs)
    if (this.#heldMs === undefined) for (const timer of this.#timers) this.#arm(timer)
  }

  #firstDue(targetMs: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.dueMs <= targetMs && timer.dueMs < (first?.dueMs ?? Infinity)) first = timer
    }
    return first
  }

  #show(ms: number): void {
    if (this.#heldMs === undefined) this.#offsetMs = ms - this.base()
    else this.#heldMs = ms
  }

  #arm(timer: Timer): void {
    clearTimeout(timer.timeout)
    const restMs = timer.dueMs - this.now()
    timer.timeout = setTimeout(
      () => {
        if (restMs > TIMEOUT_MS_MAX) return this.#arm(timer)
        this.#drop(timer)
        timer.fire()
      },
      Math.max(1, Math.min(restMs, TIMEOUT_MS_MAX)),
    )
  }

  #drop(timer: Timer): void {
    clearTimeout(timer.timeout)
    this.#timers.delete(timer)
  }
}

/** `settle`: what a server does from time to time is done for the time that the clock shows. */
export function clockApi(clock: ControlledClock, settle: () => Promise<void>): ClockApi {
  let last: Promise<unknown> = Promise.resolve()
  /** One after another: two that advance add up. */
  const inTurn = (change: () => void | Promise<void>): Promise<ClockState> => {
    const changed = last.then(async () => {
      await change()
      return clock.state
    })
    last = changed.catch(() => undefined)
    return changed
  }
  const moveTo = async (targetMs: number): Promise<void> => {
    await clock.moveTo(targetMs)
    await settle()
  }
  return {
    state: () => clock.state,
    hold: () => inTurn(() => clock.hold()),
    run: () => inTurn(() => clock.run()),
    advance: async (by) => {
      const byMs = decodeDuration(by, 'advance')
      return inTurn(() => moveTo(checkTime(clock.now() + byMs, 'advance')))
    },
    set: async (time) => {
      const ms = decodeTime(time, 'set')
      return inTurn(() => moveTo(ms))
    },
  }
}

/** For a store in PostgreSQL: all nodes use the time of the database. */
export function databaseClockApi(now: () => number): ClockApi {
  const refuse = async (): Promise<never> => {
    throw new ControlError(
      'The time is that of the database, for all nodes: it cannot be held, advanced or set. Use a store in memory or in a folder.',
    )
  }
  return {
    state: () => ({ now: new Date(now()).toISOString(), isHeld: false, offsetMs: 0 }),
    hold: refuse,
    advance: refuse,
    set: refuse,
    run: refuse,
  }
}
