// Barriers: hold requests at a point until somebody lets them go on, so that a test decides who wins a race. A held request
// holds no lock and no transaction. It goes on by itself after a time limit, when its client gives up, and when the barrier
// is removed. How many are held at once is bounded.
import type {
  Barrier,
  BarrierApi,
  BarrierRule,
  BarrierState,
  Duration,
  HeldRequest,
} from '../api.ts'
import { decodeBarrierRule } from './barrier-rule.ts'
import { durationMs } from '../rule/duration.ts'
import { FieldError } from '../field-error.ts'
import { matches } from '../rule/match.ts'
import { RuleSet } from '../rule/rule-set.ts'
import type { Passing, Point, PointListener, Points } from '../point.ts'
import type { After } from '../rule/timer.ts'

/** Of all barriers together. Further requests pass, and are counted. */
export const HELD_COUNT_MAX = 1_000
const TIME_LIMIT_MS = 60_000
/** How long `held` waits by default. */
const HELD_WAIT_MS = 30_000

export type BarrierSettings = {
  readonly points: Points
  /** By the machine's clock: a held clock must not hold requests for ever. */
  readonly after: After
  readonly heldCountMax?: number
}

/** What the barriers of a server share. */
type Room = { heldCount: number; readonly heldCountMax: number; readonly after: After }

export class Barriers implements BarrierApi, PointListener {
  readonly #room: Room
  readonly #set: RuleSet<BarrierState, OpenBarrier>

  constructor({ points, after, heldCountMax = HELD_COUNT_MAX }: BarrierSettings) {
    this.#room = { heldCount: 0, heldCountMax, after }
    this.#set = new RuleSet(points, this, 'barriers')
  }

  hold(rule: BarrierRule): Barrier {
    const decoded = decodeBarrierRule(rule)
    return this.#set.add((id, forget) => new OpenBarrier(id, decoded, this.#room, forget))
  }

  list(): readonly BarrierState[] {
    return this.#set.list()
  }

  find(id: string): Barrier | undefined {
    return this.#set.find(id)
  }

  remove(id: string): boolean {
    return this.#set.remove(id)
  }

  /** Removes all. */
  clear(): void {
    this.#set.clear()
  }

  /** One barrier after the other. */
  reach(point: Point, request: Passing): Promise<void> | undefined {
    const holding = this.#set.all().filter((barrier) => barrier.wants(point, request))
    return holding.length === 0 ? undefined : holdAll(holding, request)
  }
}

async function holdAll(barriers: readonly OpenBarrier[], request: Passing): Promise<void> {
  for (const barrier of barriers) await barrier.take(request)
}

type Held = {
  readonly request: Passing
  /** A release has its turn for it, and another one can't take it. */
  isInLine: boolean
  go(): void
}

type Waiter = { readonly count: number; resolve(): void; fail(reason: string): void }

class OpenBarrier implements Barrier {
  readonly id: string
  readonly #rule: BarrierRule
  readonly #timeLimitMs: number
  readonly #room: Room
  readonly #forget: () => void
  /** In the order in which they came. */
  readonly #held = new Set<Held>()
  /**
   * It holds each request once, however many transactions the request has. Those that run at the same time, as the parts of
   * a batch do, wait together.
   */
  readonly #known = new WeakMap<Passing, Promise<void> | undefined>()
  readonly #waiters = new Set<Waiter>()
  #takenCount = 0
  #releasedCount = 0
  #passedCount = 0
  /** Shows in an error why nothing is held. */
  #lastUnmatched: HeldRequest | undefined
  #isRemoved = false

  constructor(id: string, rule: BarrierRule, room: Room, forget: () => void) {
    this.id = id
    this.#rule = rule
    this.#timeLimitMs = durationMs(rule.timeLimit ?? TIME_LIMIT_MS, 'timeLimit')
    this.#room = room
    this.#forget = forget
  }

  wants(point: Point, request: Passing): boolean {
    const { at, match = {} } = this.#rule
    if (point !== at) return false
    if (this.#known.has(request) || matches(match, request)) return true
    this.#lastUnmatched = viewOfHeld(request)
    return false
  }

  /** undefined: it need not wait. */
  take(request: Passing): Promise<void> | undefined {
    const { count = Infinity } = this.#rule
    if (this.#known.has(request)) return this.#known.get(request)
    if (this.#isRemoved || this.#takenCount >= count) return undefined
    if (this.#room.heldCount >= this.#room.heldCountMax) {
      this.#passedCount += 1
      this.#known.set(request, undefined)
      return undefined
    }
    this.#takenCount += 1
    const going = new Promise<void>((resolve) => this.#add(request, resolve))
    this.#known.set(request, going)
    return going
  }

  #add(request: Passing, resolve: () => void): void {
    const held: Held = {
      request,
      isInLine: false,
      go: () => {
        if (!this.#held.delete(held)) return
        cancel()
        this.#room.heldCount -= 1
        this.#releasedCount += 1
        resolve()
      },
    }
    this.#held.add(held)
    this.#room.heldCount += 1
    const cancel = this.#room.after(this.#timeLimitMs, held.go)
    // A client that has its answer leaves, and has not given up.
    if (this.#rule.at !== 'answered') request.whenGone(held.go)
    this.#wake()
  }

  #wake(): void {
    for (const waiter of this.#waiters) if (this.#held.size >= waiter.count) waiter.resolve()
  }

  async held(
    count = 1,
    { timeLimit = HELD_WAIT_MS }: { readonly timeLimit?: Duration } = {},
  ): Promise<readonly HeldRequest[]> {
    if (!Number.isInteger(count) || count < 1 || count > this.#room.heldCountMax) {
      throw new FieldError('held', `must be from 1 to ${this.#room.heldCountMax}`)
    }
    const waitMs = durationMs(timeLimit, 'timeLimit')
    if (this.#held.size < count) await this.#wait(count, waitMs)
    return this.#views()
  }

  #wait(count: number, waitMs: number): Promise<void> {
    if (this.#isRemoved) throw this.#tooFew(count, 'the barrier was removed')
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel()
        this.#waiters.delete(waiter)
      }
      const waiter: Waiter = {
        count,
        resolve: () => {
          end()
          resolve()
        },
        fail: (reason) => {
          end()
          reject(this.#tooFew(count, reason))
        },
      }
      const cancel = this.#room.after(waitMs, () => waiter.fail(`${waitMs} ms have passed`))
      this.#waiters.add(waiter)
    })
  }

  #tooFew(count: number, reason: string): Error {
    const held = this.#views().map(textOfHeld).join('; ')
    const others = this.#lastUnmatched && textOfHeld(this.#lastUnmatched)
    let text = `${reason}, and ${this.#held.size} of ${count} requests are held at '${this.#rule.at}'`
    if (held !== '') text += ` (${held})`
    if (others !== undefined) text += `; the last one that did not match was ${others}`
    return new Error(text)
  }

  async release(...clients: readonly string[]): Promise<void> {
    const free = [...this.#held].filter(({ isInLine }) => !isInLine)
    const line = new Set(
      clients.length === 0 ? free : clients.flatMap((name) => heldBy(free, name)),
    )
    for (const held of line) held.isInLine = true
    try {
      for (const held of line) await this.#letEnd(held)
    } finally {
      for (const held of line) held.isInLine = false
    }
  }

  /** Lets it go on, and waits until it is over. */
  #letEnd(held: Held): Promise<void> {
    held.go()
    return new Promise((resolve, reject) => {
      const cancel = this.#room.after(this.#timeLimitMs, () => {
        const text = textOfHeld(viewOfHeld(held.request))
        reject(new Error(`${text} has not ended ${this.#timeLimitMs} ms after its release`))
      })
      held.request.whenEnded(() => {
        cancel()
        resolve()
      })
    })
  }

  remove(): void {
    if (this.#isRemoved) return
    this.#isRemoved = true
    for (const waiter of this.#waiters) waiter.fail('the barrier was removed')
    for (const held of this.#held) held.go()
    this.#forget()
  }

  state(): BarrierState {
    return {
      ...this.#rule,
      id: this.id,
      held: this.#views(),
      releasedCount: this.#releasedCount,
      passedCount: this.#passedCount,
    }
  }

  #views(): readonly HeldRequest[] {
    return [...this.#held].map(({ request }) => viewOfHeld(request))
  }
}

function heldBy(free: readonly Held[], client: string): readonly Held[] {
  const found = free.filter(({ request }) => request.client === client)
  if (found.length > 0) return found
  const names = new Set(free.map(({ request }) => `"${request.client}"`))
  const others = names.size === 0 ? 'no request is held' : `held: ${[...names].join(', ')}`
  throw new FieldError('clients', `names "${client}", which has no request here; ${others}`)
}

function viewOfHeld({ client, operation, path, clientRequestId }: Passing): HeldRequest {
  const id = clientRequestId === undefined ? {} : { clientRequestId }
  return { client, operation, path, ...id }
}

function textOfHeld({ client, operation, path }: HeldRequest): string {
  return `${operation} ${path} by "${client}"`
}
