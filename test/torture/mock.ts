// A server made of the models: it answers each call as Azure promises, at once. What clients and the checker do is tested
// with it without a server, as fast as they can.
import assert from 'node:assert/strict'
import { kindOf, modelOf } from '../../src/torture/check/objects.ts'
import type { Answer, Operation } from '../../src/torture/history/call.ts'
import { WRONG, type Moment, type Outcome, type State } from '../../src/torture/model/model.ts'

export class Mock {
  readonly #states = new Map<string, State>()
  #etagCount = 0

  answer(object: string, operation: Operation, moment: Moment): Answer {
    const model = modelOf(kindOf(object), 0)
    assert(model !== undefined, object)
    const state = this.#states.has(object) ? this.#states.get(object) : model.initial
    for (const outcome of model.outcomes(state, operation, moment)) {
      const answer = this.#answerOf(outcome, operation, state)
      const after = outcome.next(answer)
      if (after === WRONG) continue
      this.#states.set(object, after)
      return answer
    }
    throw new Error(`${object} has no answer to ${JSON.stringify(operation)}`)
  }

  /** A new ETag, where the state does not say which. */
  #answerOf({ status, code, shows }: Outcome<State>, operation: Operation, state: State): Answer {
    const base = { status, ...(code !== undefined && { code }) }
    if (status >= 300) return { ...base, ...shows }
    const { name, operations } = operation
    return {
      ...base,
      etag: this.#newETag(),
      ...shows,
      ...(name === 'query' && { rows: state as NonNullable<Answer['rows']> }),
      ...(operations && { answers: operations.map((each) => this.#partAnswer(each)) }),
    }
  }

  #partAnswer({ name }: Operation): Answer {
    return { status: name === 'insert' ? 201 : 204, etag: this.#newETag() }
  }

  #newETag(): string {
    this.#etagCount += 1
    return `"${this.#etagCount}"`
  }
}
