// Whether one order of the calls on an object explains all their answers: the search of Wing and Gong, with Lowe's memoisation.
// An order keeps calls apart that were apart in time. A call that was not answered may come at any time after it began, or not
// at all.
import type { Call } from '../history/call.ts'
import { statesAfter, type Model, type State } from '../model/model.ts'
import { Taken } from './taken.ts'

/** What searches may cost together. */
export type Effort = { left: number }

export type Search = {
  readonly model: Model
  readonly calls: readonly Call[]
  /** The states in which the object may be before the first call. */
  readonly from: readonly State[]
  readonly effort: Effort
}

export type Verdict = 'explained' | 'unexplained' | 'undecided'

export function explain(asked: Search): Verdict {
  let verdict: Verdict = 'unexplained'
  for (const state of asked.from) {
    const found = walk(asked, state, () => true)
    if (found === 'explained') return found
    if (found === 'undecided') verdict = found
  }
  return verdict
}

/** All states in which the object may be after the calls; undefined if that takes too long. */
export function statesAfterAll(asked: Search, countMax: number): readonly State[] | undefined {
  const states = new Map<string, State>()
  for (const from of asked.from) {
    const verdict = walk(asked, from, (state) => {
      states.set(JSON.stringify(state) ?? '', state)
      return states.size > countMax
    })
    if (verdict !== 'unexplained') return undefined
  }
  return [...states.values()]
}

/** Where the longest order that was found ends. */
export type Stuck = { count: number; state: State; next: readonly Call[] }

/** None of the calls that may come next fits. */
export function longestOrder(asked: Search): Stuck {
  const stuck: Stuck = { count: -1, state: asked.from[0], next: [] }
  for (const state of asked.from) walk(asked, state, () => true, stuck)
  return stuck
}

type Frame = {
  /** The call that was taken. */
  readonly at: number
  readonly states: readonly State[]
  /** The next of them to try. */
  next: number
  readonly before: State
}

/** Visits states in which all answered calls have been taken, until `found` is content. */
function walk(
  { model, calls, effort }: Search,
  from: State,
  found: (state: State) => boolean,
  stuck?: Stuck,
): Verdict {
  // prettier-ignore
  const taken = new Taken(calls)
  const seen = new Seen()
  const path: Frame[] = []
  let state = from
  const advance = (frame: Frame): number | undefined => {
    while (frame.next < frame.states.length) {
      const after = frame.states[frame.next]
      frame.next += 1
      taken.take(frame.at)
      if (seen.isNew(`${taken.key()} ${JSON.stringify(after)}`, taken.others)) {
        path.push(frame)
        state = after
        if (stuck !== undefined && taken.count > stuck.count)
          Object.assign(stuck, { count: taken.count, state, next: taken.next() })
        return taken.first()
      }
      taken.undo(frame.at)
    }
    return taken.after(frame.at)
  }
  if (taken.isComplete && found(state)) return 'explained'
  let at = taken.first()
  for (;;) {
    const depth = path.length
    if (at === undefined) {
      const frame = path.pop()
      if (frame === undefined) return 'unexplained'
      taken.undo(frame.at)
      state = frame.before
      at = advance(frame)
    } else {
      effort.left -= 1
      if (effort.left < 0) return 'undecided'
      const call = taken.calls[at]
      const states = call === undefined ? [] : statesAfter(model, state, call)
      at = advance({ at, states, next: 0, before: state })
    }
    if (taken.isComplete && path.length >= depth && found(state)) return 'explained'
  }
}

/** Where a search has been: what a state with some of the uncertain calls can't explain, it can't with more of them, either. */
class Seen {
  readonly #others = new Map<string, readonly bigint[]>()

  isNew(key: string, others: bigint): boolean {
    const known = this.#others.get(key) ?? []
    if (known.some((each) => (each & ~others) === 0n)) return false
    this.#others.set(key, [...known.filter((each) => (others & ~each) !== 0n), others])
    return true
  }
}
