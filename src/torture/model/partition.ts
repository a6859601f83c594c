// One partition of a table: its entities, and batches, of which all operations happen or none.
import type { Answer, Operation, Properties, Row } from '../history/call.ts'
import { conditionViews, retagged, revealed, tagOf } from './condition.ts'
import { refusal, WRONG, type Model, type Outcome, type Refused } from './model.ts'

export type PartitionState = Readonly<Record<string, Row>>

const STATUS: Readonly<Record<string, number>> = { insert: 201, update: 204, upsert: 204, delete: 204 } // prettier-ignore

const NOT_FOUND: Refused = [404, 'ResourceNotFound']

export function partitionModel(): Model<PartitionState> {
  return {
    initial: {},
    reads: new Set(['get', 'query']),
    outcomes: (state, operation) => {
      if (operation.name === 'get') return [get(state, operation)]
      if (operation.name === 'query')
        return [{ status: 200, next: (answer) => query(state, answer) }]
      if (operation.name === 'batch') return batch(state, operation)
      return STATUS[operation.name] === undefined ? [] : change(state, operation)
    },
  }
}

function get(state: PartitionState, { row = '' }: Operation): Outcome<PartitionState> {
  const current = state[row]
  if (current === undefined) return refusal(state, NOT_FOUND)
  return {
    status: 200,
    shows: { ...tagOf(current), properties: current.properties },
    next: (answer) => {
      const seen = revealed(current, answer)
      return seen === WRONG ? WRONG : { ...state, [row]: seen }
    },
  }
}

function query(state: PartitionState, answer: Answer | undefined) {
  if (answer === undefined) return state
  const rows = answer.rows ?? {}
  const names = Object.keys(state).sort()
  if (Object.keys(rows).sort().join() !== names.join()) return WRONG
  const seen: Record<string, Row> = {}
  for (const name of names) {
    const [current, shown] = [state[name], rows[name]]
    if (current === undefined || shown === undefined) return WRONG
    const { etag, properties } = shown
    const known = revealed(current, { status: 200, ...(etag !== undefined && { etag }) })
    if (known === WRONG || JSON.stringify(properties) !== JSON.stringify(current.properties))
      return WRONG
    seen[name] = known
  }
  return seen
}

function change(state: PartitionState, operation: Operation): readonly Outcome<PartitionState>[] {
  const { name, row = '', condition } = operation
  const current = state[row]
  if (name === 'insert' && current !== undefined)
    return [refusal(state, [409, 'EntityAlreadyExists'])]
  const isMissing = current === undefined && (name === 'update' || name === 'delete')
  if (isMissing) return [refusal(state, NOT_FOUND)]
  const status = STATUS[name] ?? 0
  if (current === undefined)
    return [{ status, next: (answer) => changed(state, operation, undefined, answer) }]
  return conditionViews(current, condition).map(({ current: seen, fails }) => {
    const known = { ...state, [row]: seen }
    if (fails !== undefined) return refusal(known, [412, 'UpdateConditionNotSatisfied'])
    return { status, next: (answer) => changed(known, operation, seen, answer) }
  })
}

function changed(
  state: PartitionState,
  { name, row = '', properties: sent = {}, merges }: Operation,
  current: Row | undefined,
  answer: Answer | undefined,
): PartitionState | typeof WRONG {
  if (name === 'delete') {
    const { [row]: _, ...rest } = state
    return rest
  }
  const all: Properties = merges === true ? { ...current?.properties, ...sent } : sent
  const properties = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
  const after = retagged(current, { properties }, answer)
  return after === WRONG ? WRONG : { ...state, [row]: after }
}

/** All operations see the partition as the earlier ones of the batch have left it. The first that is refused, refuses it. */
function batch(state: PartitionState, operation: Operation): readonly Outcome<PartitionState>[] {
  const { operations = [] } = operation
  const refusals: Outcome<PartitionState>[] = []
  let views: readonly PartitionState[] = [state]
  for (const [at, each] of operations.entries()) {
    const outcomes = views.flatMap((view) => change(view, each))
    // Several outcomes are possible where an ETag is not known.
    const refused = outcomes.filter(({ status }) => status >= 400)
    refusals.push(...refused.map((outcome) => refusedBatch(state, outcome, at)))
    if (refused.length === outcomes.length) return refusals
    views = outcomes.flatMap(({ status, next }) => {
      const after = status < 400 ? next(undefined) : WRONG
      return after === WRONG ? [] : [after]
    })
  }
  const next = (answer: Answer | undefined) => batched(state, operations, answer)
  return [...refusals, { status: 202, next }]
}

function refusedBatch(
  state: PartitionState,
  { status, code }: Outcome<PartitionState>,
  at: number,
): Outcome<PartitionState> {
  return { status, ...(code !== undefined && { code }), shows: { failed: at }, next: () => state }
}

function batched(
  state: PartitionState,
  operations: readonly Operation[],
  answer: Answer | undefined,
) {
  // prettier-ignore
  let views: readonly PartitionState[] = [state]
  for (const [at, each] of operations.entries()) {
    const own = answer?.answers?.[at]
    if (answer !== undefined && own === undefined) return WRONG
    views = views.flatMap((view) =>
      change(view, each).flatMap(({ status, next }) => {
        const after = status < 400 && (own === undefined || own.status === status) ? next(own) : WRONG // prettier-ignore
        return after === WRONG ? [] : [after]
      }),
    )
  }
  return views[0] ?? WRONG
}
