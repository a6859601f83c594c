// One directory of a share: its files with their ranges, renames within it, and the leases of files.
import type { Answer, Operation } from '../history/call.ts'
import { retagged, revealed } from './condition.ts'
import { isLeaseAction, leaseOutcomes, leaseUses, type Lease, type LeaseUse } from './lease.ts'
import { refusal, tells, WRONG, type Model, type Moment, type Outcome, type Refused } from './model.ts' // prettier-ignore
import { listOf } from './value.ts'

type File = {
  readonly etag?: string
  /** A value for each slot; `0` where nothing was written. */
  readonly content: string
  readonly lease?: Lease
}

export type DirectoryState = Readonly<Record<string, File>>

const CODES = {
  absent: 'LeaseNotPresentWithFileOperation',
  mismatch: 'LeaseIdMismatchWithFileOperation',
}

const NOT_FOUND: Refused = [404, 'ResourceNotFound']

export function directoryModel(slackMs: number): Model<DirectoryState> {
  return {
    initial: {},
    reads: new Set(['get', 'list']),
    outcomes: (state, operation, moment) => {
      const { name, file = '' } = operation
      const current = state[file]
      if (name === 'list') return [list(state)]
      if (name === 'rename') return rename(state, operation, moment)
      if (current === undefined && name !== 'create') return [refusal(state, NOT_FOUND)]
      const keep = (lease: Lease | undefined) => withLease(state, file, lease)
      if (isLeaseAction(operation))
        return leaseOutcomes(current?.lease, operation, moment, slackMs, keep)
      const status = STATUS[name]
      if (status === undefined) return []
      const kind = name === 'get' ? 'read' : 'write'
      return uses(current, kind, operation, moment).map(({ lease, refused }) => {
        const known = current === undefined ? state : keep(lease)
        if (refused !== undefined) return refusal(known, refused)
        return { status, next: (answer) => after(known, operation, answer) }
      })
    },
  }
}

const STATUS: Readonly<Record<string, number>> = { get: 200, create: 201, putRange: 201, delete: 202 } // prettier-ignore

function uses(
  file: File | undefined,
  kind: 'read' | 'write',
  { lease: id }: Operation,
  moment: Moment,
): readonly LeaseUse[] {
  // prettier-ignore
  return leaseUses(file?.lease, { kind, id }, CODES, moment)
}

function withLease(state: DirectoryState, name: string, lease: Lease | undefined): DirectoryState {
  const file = state[name]
  if (file === undefined) return state
  const { lease: _, ...rest } = file
  return sorted({ ...state, [name]: { ...rest, ...(lease !== undefined && { lease }) } })
}

function sorted(state: DirectoryState): DirectoryState {
  return Object.fromEntries(Object.entries(state).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function list(state: DirectoryState): Outcome<DirectoryState> {
  const names = Object.keys(state).sort().join(' ')
  return { status: 200, next: (answer) => (tells(answer, { names }) ? state : WRONG) }
}

function after(state: DirectoryState, operation: Operation, answer: Answer | undefined) {
  const { name, file = '', slots = 0, slot = 0, value = '', count = 1 } = operation
  const current = state[file] ?? { content: '' }
  if (name === 'delete') return without(state, file)
  if (name === 'get') {
    const seen = tells(answer, { value: current.content }) ? revealed(current, answer) : WRONG
    return seen === WRONG ? WRONG : sorted({ ...state, [file]: seen })
  }
  const content = listOf(name === 'create' ? '0 '.repeat(slots).trim() : current.content)
  const isWritten = (at: number) => name === 'putRange' && at >= slot && at < slot + count
  const next = content.map((old, at) => (isWritten(at) ? value : old)).join(' ')
  const changed = retagged(state[file], { ...current, content: next }, answer)
  return changed === WRONG ? WRONG : sorted({ ...state, [file]: changed })
}

function without(state: DirectoryState, name: string): DirectoryState {
  const { [name]: _, ...rest } = state
  return rest
}

/** No lease id is sent, so a lease on either file refuses it. */
function rename(
  state: DirectoryState,
  { file = '', to = '', replaces }: Operation,
  moment: Moment,
) {
  // prettier-ignore
  const [source, target] = [state[file], state[to]]
  if (source === undefined) return [refusal(state, NOT_FOUND)]
  const outcomes: Outcome<DirectoryState>[] = []
  for (const one of uses(source, 'write', { name: '' }, moment)) {
    for (const other of uses(target, 'write', { name: '' }, moment)) {
      const known = withLease(withLease(state, file, one.lease), to, other.lease)
      const exists: Refused | undefined = target === undefined || replaces === true ? undefined : [409, 'ResourceAlreadyExists'] // prettier-ignore
      const refused = [one.refused, other.refused, exists].filter((each) => each !== undefined)
      if (refused.length > 0) outcomes.push(...refused.map((each) => refusal(state, each)))
      else outcomes.push({ status: 200, next: (answer) => renamed(known, source, { file, to }, answer) }) // prettier-ignore
    }
  }
  return outcomes
}

function renamed(
  state: DirectoryState,
  source: File,
  { file, to }: { file: string; to: string },
  answer: Answer | undefined,
) {
  // prettier-ignore
  const { etag: _etag, ...rest } = source
  const moved = { ...rest, ...(answer?.etag !== undefined && { etag: answer.etag }) }
  return sorted({ ...without(state, file), [to]: moved })
}
