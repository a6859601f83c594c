// Splits long work over turns of the event loop, so that one request does not delay the others.
import { setImmediate } from 'node:timers/promises'

/** How long work runs before it lets the event loop turn. */
const TURN_MS = 10

export class Turn {
  #untilMs: number

  constructor(lengthMs = TURN_MS) {
    this.#untilMs = performance.now() + lengthMs
  }

  isOver(): boolean {
    return performance.now() >= this.#untilMs
  }

  /** Resolves in the next turn of the event loop. */
  async next(): Promise<void> {
    await setImmediate()
    this.#untilMs = performance.now() + TURN_MS
  }
}

/** Calls `work` for each item, over as many turns of the event loop as it takes. */
export async function inTurns<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
  const turn = new Turn()
  let count = 0
  for (const item of items) {
    work(item)
    count += 1
    if (count % CHECK_COUNT === 0 && turn.isOver()) await turn.next()
  }
}

/** Items between two checks of the clock. */
const CHECK_COUNT = 32
