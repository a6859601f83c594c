// What Azure promises about one object, as a function from a state and a call to the outcomes that are possible. Models are
// written from Azure's documentation and share nothing with the rules of the server, so that a mistake in one of them shows.
import type { Answer, Call, Operation } from '../history/call.ts'

/** Values, objects and lists: two states are the same if their JSON is. */
export type State = object | undefined

export type Outcome<S> = {
  readonly status: number
  readonly code?: string
  /** What the answer must show of the state. */
  readonly shows?: Partial<Answer>
  /**
   * The state afterwards, with what the server has chosen (ETags, receipts); undefined if the rest of the answer is wrong.
   * Without an answer, what the server has chosen is not known.
   */
  readonly next: (answer: Answer | undefined) => S | typeof WRONG
}

export const WRONG = Symbol('wrong')

export type Moment = Pick<Call, 'began' | 'ended' | 'answer'>

export type Model<S = State> = {
  readonly initial: S
  /** The operations that change nothing. */
  readonly reads: ReadonlySet<string>
  /** None: no such operation. */
  outcomes(state: S, operation: Operation, moment: Moment): readonly Outcome<S>[]
}

/** The states in which the object may be after a call; none if it can't have been answered like this. */
export function statesAfter<S>(model: Model<S>, state: S, call: Call): readonly S[] {
  const { operation, answer } = call
  const states: S[] = []
  for (const { status, code, shows = {}, next } of model.outcomes(state, operation, call)) {
    const fits =
      answer === undefined ? status < 400 : answer.status === status && answer.code === code
    const after = fits && tells(answer, shows) ? next(answer) : WRONG
    if (after !== WRONG) states.push(after)
  }
  return states
}

/** The fields of an answer that must be as the state says. */
function tells(answer: Answer | undefined, expected: Partial<Answer>): boolean {
  if (answer === undefined) return true
  return Object.entries(expected).every(([field, value]) => {
    const told: unknown = answer[field as keyof Answer]
    return told === value || JSON.stringify(told) === JSON.stringify(value)
  })
}

export function refusal<S>(state: S, [status, code]: Refused): Outcome<S> {
  return { status, ...(code !== '' && { code }), next: () => state }
}

export type Refused = readonly [status: number, code: string]
