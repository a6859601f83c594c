// How bodies are driven: what they yield, and what each yield means to the runner.
import type { Needed, Step } from './kv.ts'

/** A body yields this where it may pause for a turn of the event loop. */
export const PAUSE = Symbol('pause')

/** Lets other requests have their turn: in the loops of long bodies, about once in a millisecond. */
export function* giveWay(): Step<void> {
  yield PAUSE
}

/** A body yields this when something has to happen outside of it before it can run. */
export class Need {
  readonly what: Needed

  constructor(what: Needed) {
    this.what = what
  }
}

/**
 * Ends a body that finds it can't go on: it has changed nothing, and whoever runs it gets `what` instead of a value
 * (`Kv.attempt`), sees to it, and runs the body again.
 */
export function* need(what: Needed): Step<never> {
  yield new Need(what)
  throw new Error('a body that needs something is not resumed')
}

/** A step that is already done. Not a generator: there are a dozen for each request. */
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
