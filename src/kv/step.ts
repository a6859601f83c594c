// How bodies are driven: what they yield, and what each yield means to the runner.
import assert from 'node:assert/strict'
import type { Step } from './kv.ts'

/** A body yields this where it may pause for a turn of the event loop (paced.ts). */
export const PAUSE = Symbol('pause')

/** A body yields this when something has to happen outside of it before it can run. */
export class Need {
  readonly what: object

  constructor(what: object) {
    this.what = what
  }
}

/**
 * Ends a body that finds it can't go on: it has changed nothing, and whoever runs it gets `what` instead of a value
 * (`Kv.attempt`), sees to it, and runs the body again.
 */
export function* need(what: object): Step<never> {
  yield new Need(what)
  throw new Error('a body that needs something is not resumed')
}

/** Runs a body whose reads never wait, without pauses. */
export function runStraight<T>(steps: Step<T>): T | Need {
  let result = steps.next()
  while (result.done !== true) {
    if (result.value instanceof Need) return result.value
    assert(result.value === PAUSE, 'a read of this engine waited')
    result = steps.next()
  }
  return result.value
}

/** A step that is already done. Not a generator: there are a dozen for each request. */
export function ready<T>(value: T): Step<T> {
  return new Ready(value)
}

/** What the step ends with, made into something else. */
export function mapStep<T, U>(step: Step<T>, make: (value: T) => U): Step<U> {
  return step instanceof Ready ? new Ready(make(step.value)) : mapSteps(step, make)
}

function* mapSteps<T, U>(step: Step<T>, make: (value: T) => U): Step<U> {
  return make(yield* step)
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
