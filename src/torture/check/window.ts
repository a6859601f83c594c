// The smallest part of an object's history that still can't be explained: the shortest beginning that fails, from the last moment at
// which nothing was under way, with only the calls whose answers matter.
import type { Call } from '../history/call.ts'
import type { Model, State } from '../model/model.ts'
import { explain, longestOrder, statesAfterAll, type Effort } from './search.ts'

export type Window = {
  /** The states in which the object may have been before. */
  readonly from: readonly State[]
  /** No order of these explains their answers; by their beginning. */
  readonly calls: readonly Call[]
  /** Calls at the same time whose answers don't matter: they may have happened or not. */
  readonly otherCount: number
  /** The calls follow the longest order that explains its answers; none of them fits. */
  readonly isLongest?: true
}

const EFFORT_EACH = 50_000
/** Of all searches for one window; what is found by then is small enough. */
const EFFORT_MAX = 600_000
const STATES_MAX = 32
const CUTS_MAX = 12
const TRIES_MAX = 400
/** More would not be read. */
const CALLS_MAX = 60

export function smallestWindow(model: Model, calls: readonly Call[]): Window {
  const trial: Trial = { model, left: EFFORT_MAX }
  const first = shortestBeginning(trial, calls)
  const { from, rest } = latestStart(trial, first)
  const kept = withoutIdle(trial, from, rest)
  const told = kept.filter(isAnswered)
  if (told.length > CALLS_MAX) return whereStuck(model, first)
  return { from, calls: told, otherCount: kept.length - told.length }
}

/** Where clients never pause, a window can't be cut. What the longest order leaves is short, although another order may leave more. */
function whereStuck(model: Model, calls: readonly Call[]): Window {
  const search = { model, calls, from: [model.initial], effort: { left: EFFORT_MAX } }
  const { state, next } = longestOrder(search)
  return { from: [state], calls: next.filter(isAnswered), otherCount: 0, isLongest: true }
}

type Trial = { readonly model: Model; left: number }

function fails(trial: Trial, from: readonly State[], calls: readonly Call[]): boolean {
  const effort: Effort = { left: Math.min(EFFORT_EACH, trial.left) }
  trial.left -= effort.left
  const verdict = explain({ model: trial.model, calls, from, effort })
  trial.left += Math.max(0, effort.left)
  return verdict === 'unexplained'
}

/** The calls that began before the first answer that nothing explains; those that ended later have no answer yet. */
function shortestBeginning(trial: Trial, calls: readonly Call[]): readonly Call[] {
  const ends = calls.filter(isAnswered).map(({ ended }) => ended).sort((a, b) => a - b) // prettier-ignore
  let [low, high] = [0, ends.length - 1]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (fails(trial, [trial.model.initial], until(calls, ends[middle] ?? 0))) high = middle
    else low = middle + 1
  }
  return until(calls, ends[low] ?? 0)
}

function isAnswered({ answer }: Call): boolean {
  return answer !== undefined
}

function until(calls: readonly Call[], end: number): readonly Call[] {
  return calls
    .filter(({ began }) => began <= end)
    .map((call) => (call.ended <= end ? call : unanswered(call)))
}

function unanswered(call: Call): Call {
  const { answer: _answer, ...rest } = call
  return rest
}

type Start = { readonly from: readonly State[]; readonly rest: readonly Call[] }

/** Nothing that was answered was under way then. What was not answered before may still happen. */
function latestStart(trial: Trial, calls: readonly Call[]): Start {
  const { model } = trial
  const whole: Start = { from: [model.initial], rest: calls }
  for (const at of cutsOf(calls).reverse().slice(0, CUTS_MAX)) {
    const before = calls.filter(({ began }) => began < at)
    const rest = calls.filter((call) => call.began >= at || !isAnswered(call))
    const effort: Effort = { left: EFFORT_EACH }
    const search = { model, calls: before, from: [model.initial], effort }
    const from = statesAfterAll(search, STATES_MAX)
    if (from !== undefined && fails(trial, from, rest)) return { from, rest }
  }
  return whole
}

function cutsOf(calls: readonly Call[]): number[] {
  const cuts: number[] = []
  let end = -Infinity
  for (const call of calls.filter(isAnswered).sort((a, b) => a.began - b.began)) {
    if (call.began > end) cuts.push(call.began)
    end = Math.max(end, call.ended)
  }
  return cuts
}

/**
 * Leaves out reads, and the answers of writes, as long as the rest still fails. A write itself stays: without it, another answer
 * might lack what explains it.
 */
function withoutIdle(trial: Trial, from: readonly State[], calls: readonly Call[]) {
  let kept = calls.filter((call) => isAnswered(call) || !trial.model.reads.has(call.operation.name))
  const answered = kept.filter(isAnswered).sort((a, b) => b.ended - a.ended)
  for (const call of answered.slice(0, TRIES_MAX)) {
    const rest = kept.filter((each) => each !== call)
    const fewer = trial.model.reads.has(call.operation.name) ? rest : [...rest, unanswered(call)]
    if (fails(trial, from, fewer)) kept = fewer
  }
  return kept.sort((a, b) => a.began - b.began)
}
