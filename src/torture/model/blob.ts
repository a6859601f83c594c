// One block blob or append blob: content, blocks, metadata, conditions and lease.
import type { Answer, Operation } from '../history/call.ts'
import { conditionViews, retagged, revealed, tagOf } from './condition.ts'
import { isLeaseAction, leaseOutcomes, leaseUses, type Lease, type LeaseUse } from './lease.ts'
import { refusal, WRONG, type Model, type Moment, type Outcome, type Refused } from './model.ts' // prettier-ignore
import { lengthOf, listOf } from './value.ts'

type Blob = {
  readonly etag?: string
  /** The values that follow each other. */
  readonly content: string
  readonly metadata: string
  /** The ids and values of committed blocks. */
  readonly blocks: readonly (readonly [id: string, value: string])[]
}

export type BlobState = {
  readonly blob?: Blob
  /** Blocks that no list has committed. */
  readonly staged: Readonly<Record<string, string>>
  /** Also of a blob that has only such blocks. */
  readonly lease?: Lease
}

const CODES = {
  absent: 'LeaseNotPresentWithBlobOperation',
  mismatch: 'LeaseIdMismatchWithBlobOperation',
}

const NOT_FOUND: Refused = [404, 'BlobNotFound']

const EMPTY: BlobState = { staged: {} }

export function blobModel(slackMs: number): Model<BlobState> {
  return {
    initial: EMPTY,
    reads: new Set(['get', 'getBlockList']),
    outcomes: (state, operation, moment) => {
      if (isLeaseAction(operation)) return leaseAction(state, operation, moment, slackMs)
      switch (operation.name) {
        case 'get':
          return get(state, operation, moment)
        case 'getBlockList':
          return [getBlockList(state)]
        case 'putBlock':
          return putBlock(state, operation, moment)
        default:
          return write(state, operation, moment)
      }
    },
  }
}

function exists({ blob, staged }: BlobState): boolean {
  return blob !== undefined || Object.keys(staged).length > 0
}

function leaseAction(state: BlobState, operation: Operation, moment: Moment, slackMs: number) {
  if (!exists(state)) return [refusal(state, NOT_FOUND)]
  return leaseOutcomes(state.lease, operation, moment, slackMs, (lease) => withLease(state, lease))
}

function withLease(state: BlobState, lease: Lease | undefined): BlobState {
  const { lease: _, ...rest } = state
  return { ...rest, ...(lease !== undefined && { lease }) }
}

function uses(
  state: BlobState,
  kind: 'read' | 'write',
  { lease: id }: Operation,
  moment: Moment,
): readonly LeaseUse[] {
  // prettier-ignore
  return leaseUses(state.lease, { kind, id }, CODES, moment)
}

function get(
  state: BlobState,
  operation: Operation,
  moment: Moment,
): readonly Outcome<BlobState>[] {
  const { blob } = state
  // No read can meet it.
  if (operation.condition?.none === '*') return [refusal(state, [400, 'UnsatisfiableCondition'])]
  if (blob === undefined) return [refusal(state, NOT_FOUND)]
  return uses(state, 'read', operation, moment).flatMap(({ lease, refused }) => {
    return conditionViews(blob, operation.condition).flatMap(({ current, fails }) => {
      const known = withLease({ ...state, blob: current }, lease)
      const unmet: Refused | undefined =
        fails && (fails === 'match' ? [412, 'ConditionNotMet'] : [304, ''])
      const reasons = [refused, unmet].filter((each) => each !== undefined)
      if (reasons.length > 0) return reasons.map((each) => refusal(known, each))
      const { content: value, metadata } = current
      const next = (answer: Answer | undefined) => {
        const shown = revealed(current, answer)
        return shown === WRONG ? WRONG : { ...known, blob: shown }
      }
      return [{ status: 200, shows: { ...tagOf(current), value, metadata }, next }]
    })
  })
}

function getBlockList(state: BlobState): Outcome<BlobState> {
  const { blob, staged } = state
  if (!exists(state)) return refusal(state, NOT_FOUND)
  const committed = (blob?.blocks ?? []).map(([id]) => id).join(' ')
  const uncommitted = Object.keys(staged).sort().join(' ')
  return { status: 200, shows: { committed, uncommitted }, next: () => state }
}

function putBlock(state: BlobState, operation: Operation, moment: Moment) {
  const { block = '', value = '' } = operation
  return uses(state, 'write', operation, moment).map(({ lease, refused }): Outcome<BlobState> => {
    // It does not forget a lease that has ended: it changes nothing that can be read.
    const seen = withLease(state, lease ?? state.lease)
    if (refused !== undefined) return refusal(seen, refused)
    return { status: 201, next: () => ({ ...seen, staged: { ...state.staged, [block]: value } }) }
  })
}

/** The writes that take conditions, and their statuses. */
const WRITES: Readonly<Record<string, number>> = { put: 201, putBlockList: 201, append: 201, setMetadata: 200, delete: 202 } // prettier-ignore
const CREATES = new Set(['put', 'putBlockList'])

function write(state: BlobState, operation: Operation, moment: Moment): Outcome<BlobState>[] {
  const { name } = operation
  const status = WRITES[name]
  if (status === undefined) return []
  const { condition } = operation
  const views =
    state.blob === undefined
      ? [absentView(state, operation)]
      : conditionViews(state.blob, condition).map(({ current, fails }) => ({
          current,
          refused: fails && failed(operation, fails),
        }))
  return views.flatMap(({ current, refused: unmet }) =>
    uses(state, 'write', operation, moment).flatMap(({ lease, refused }) => {
      const known = withLease(current === undefined ? state : { ...state, blob: current }, lease)
      // Whoever has the lease may replace the blob all the same (recorded traffic of the service).
      const isHolder = operation.lease !== undefined && refused === undefined
      const isOverruled = isHolder && unmet?.[1] === 'BlobAlreadyExists'
      const reasons = [isOverruled ? undefined : unmet, refused, contentRefusal(known, operation)]
      const given = reasons.filter((each) => each !== undefined)
      // What was refused has not made it forget a lease.
      const unchanged = withLease(known, lease ?? state.lease)
      if (given.length > 0) return given.map((each) => refusal(unchanged, each))
      const shows = name === 'append' ? appended(known) : {}
      return [{ status, shows, next: (answer) => written(known, operation, answer) }]
    }),
  )
}

/** Blocks that no list has committed can be deleted, too. */
function absentView(
  state: BlobState,
  { name, condition }: Operation,
): { current: undefined; refused: Refused | undefined } {
  // prettier-ignore
  const isThere = name === 'delete' && exists(state)
  if (!CREATES.has(name) && !isThere) return { current: undefined, refused: NOT_FOUND }
  const isUnmet = condition?.match !== undefined
  return { current: undefined, refused: isUnmet ? [412, 'ConditionNotMet'] : undefined }
}

function failed({ name, condition }: Operation, fails: 'match' | 'none'): Refused {
  const exists = fails === 'none' && condition?.none === '*' && CREATES.has(name)
  return exists ? [409, 'BlobAlreadyExists'] : [412, 'ConditionNotMet']
}

function contentRefusal({ blob, staged }: BlobState, operation: Operation): Refused | undefined {
  const { name, blocks = [], position } = operation
  if (name === 'putBlockList') {
    const known = new Set([...Object.keys(staged), ...(blob?.blocks ?? []).map(([id]) => id)])
    return blocks.every((id) => known.has(id)) ? undefined : [400, 'InvalidBlockList']
  }
  if (name !== 'append' || position === undefined || blob === undefined) return undefined
  const isThere = lengthOf(blob.content) === position
  return isThere ? undefined : [412, 'AppendPositionConditionNotMet']
}

function appended({ blob }: BlobState): Partial<Answer> {
  const content = blob?.content ?? ''
  return { offset: lengthOf(content), count: listOf(content).length + 1 }
}

function written(state: BlobState, operation: Operation, answer: Answer | undefined) {
  const { name, value = '', blocks = [] } = operation
  const { staged } = state
  // An action on an object that is not there was refused before.
  const blob: Blob = state.blob ?? { content: '', metadata: '', blocks: [] }
  const save = (changed: Partial<Blob>, rest = staged): BlobState | typeof WRONG => {
    const tagged = retagged(state.blob, { ...blob, ...changed }, answer)
    return tagged === WRONG ? WRONG : { ...state, blob: tagged, staged: rest }
  }
  switch (name) {
    case 'delete':
      return EMPTY
    case 'put':
      return save({ content: value, metadata: '', blocks: [] }, {})
    case 'setMetadata':
      return save({ metadata: value })
    case 'append': {
      return save({ content: [...listOf(blob.content), value].join(' ') })
    }
    default: {
      const committed = new Map(blob.blocks)
      const named = blocks.map((id) => [id, staged[id] ?? committed.get(id) ?? ''] as const)
      const content = named.map(([, each]) => each).join(' ')
      return save({ content, metadata: '', blocks: named }, {})
    }
  }
}
