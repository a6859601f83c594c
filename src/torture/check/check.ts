// Decides about a whole history: explained, or not, or too expensive to decide.
import type { History } from '../history/call.ts'
import { objectsOf } from './objects.ts'
import { explain, type Effort } from './search.ts'
import { smallestWindow, type Window } from './window.ts'

export type Violation = { readonly object: string; readonly callCount: number; readonly window: Window } // prettier-ignore

export type Checked = {
  readonly objectCount: number
  readonly violations: readonly Violation[]
  /** Objects that would take too long. */
  readonly undecided: readonly string[]
}

const EFFORT_PER_OBJECT = 3_000_000
/** Others are most likely the same. */
const VIOLATIONS_MAX = 5

export function checkHistory(history: History): Checked {
  const objects = objectsOf(history)
  const violations: Violation[] = []
  const undecided: string[] = []
  for (const { object, model, calls } of objects) {
    const effort: Effort = { left: EFFORT_PER_OBJECT }
    const verdict = explain({ model, calls, from: [model.initial], effort })
    if (verdict === 'undecided') undecided.push(object)
    if (verdict === 'unexplained' && violations.length < VIOLATIONS_MAX) {
      violations.push({ object, callCount: calls.length, window: smallestWindow(model, calls) })
    }
  }
  return { objectCount: objects.length, violations, undecided }
}
