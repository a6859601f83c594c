// How bodies are driven: what they yield, and what each yield means to the runner.
import type { Needed, Step } from './kv.ts'

/** A body yields this where it may pause for a turn of the event loop. */
export const PAUSE = Symbol('pause')

/** Lets other requests run. Long bodies call it in their loops, about once per millisecond. */
export function* giveWay(): Step<void> {
  yield PAUSE
}

/** A body yields this when something outside of it has to happen first. */
export class Need {
  readonly what: Needed

  constructor(what: Needed) {
    this.what = what
  }
}

/**
 * Ends a body that can't go on. It has changed nothing. Its caller gets `what` instead of a value (`Kv.attempt`), handles
 * it, and runs the body again.
 */
export function* need(what: Needed): Step<never> {
  yield new Need(what)
  throw new Error('A body is never resumed after it yields a need.')
}

/** A completed step. Not a generator, because a request makes a dozen of them. */
export function ready<T>(value: T): Step<T> {
  return new Ready(value)
}

/** It is its own result. */
class Ready<T> implements IteratorReturnResult<T> {
  readonly done = true
  readonly value: T

  constructor(value: T) {
    this.value = value
  }

  next(): this {
    return this
  }

  [Symbol.iterator](): this {
    return this
  }
}
