// One directory of a share: its files with their ranges, renames within it, the leases of files, and who has them open over SMB
// (smb-use.ts).
import type { Answer, Operation } from '../history/call.ts'
import { retagged, revealed, tagOf } from './condition.ts'
import { sorted, without, type DirectoryState, type File } from './files.ts'
import { isLeaseAction, leaseOutcomes, leaseUses, type Lease, type LeaseUse } from './lease.ts'
import { refusal, WRONG, type Model, type Moment, type Outcome, type Refused } from './model.ts' // prettier-ignore
import { restConflicts } from './open.ts'
import { smbOutcomes } from './smb-use.ts'
import { listOf } from './value.ts'

const CODES = {
  absent: 'LeaseNotPresentWithFileOperation',
  mismatch: 'LeaseIdMismatchWithFileOperation',
}

const NOT_FOUND: Refused = [404, 'ResourceNotFound']

export function directoryModel(slackMs: number): Model<DirectoryState> {
  return {
    initial: {},
    reads: new Set(['get', 'list', 'read']),
    outcomes: (state, operation, moment) => {
      const { name, file = '' } = operation
      const current = state[file]
      if (operation.handle !== undefined) return smbOutcomes(state, operation, moment)
      if (name === 'list') return [list(state)]
      if (name === 'rename') return rename(state, operation, moment)
      if (current === undefined && name !== 'create') return [refusal(state, NOT_FOUND)]
      const met = openRefusals(current, name)
      if (met.length > 0) return met.map((each) => refusal(state, each))
      const keep = (lease: Lease | undefined) => withLease(state, file, lease)
      if (isLeaseAction(operation))
        return leaseOutcomes(current?.lease, operation, moment, slackMs, keep)
      return change(state, operation, moment)
    },
  }
}

/** The checks of opens come before those of leases. */
function openRefusals(file: File | undefined, operation: string): readonly Refused[] {
  if (file?.isDeletePending) return [[409, 'SMBDeletePending']]
  return restConflicts(file?.opens ?? {}, operation) ? [[409, 'SharingViolation']] : []
}

const STATUS: Readonly<Record<string, number>> = { get: 200, create: 201, putRange: 201, delete: 202 } // prettier-ignore

function change(state: DirectoryState, operation: Operation, moment: Moment) {
  const { name, file = '', slot = 0, count = 1 } = operation
  const [current, status] = [state[file], STATUS[name]]
  if (status === undefined) return []
  const kind = name === 'get' ? 'read' : 'write'
  return uses(current, kind, operation, moment).flatMap(({ lease, refused }) => {
    const known = current === undefined ? state : withLease(state, file, lease)
    const isBeyond = name === 'putRange' && slot + count > listOf(current?.content ?? '').length
    const reasons: (Refused | undefined)[] = [refused, isBeyond ? [416, 'InvalidRange'] : undefined]
    const given = reasons.filter((each) => each !== undefined)
    // What was refused has not made it forget a lease.
    const unchanged = withLease(state, file, lease ?? current?.lease)
    if (given.length > 0) return given.map((each) => refusal(unchanged, each))
    const shows =
      name === 'get' && current !== undefined ? { ...tagOf(current), value: current.content } : {}
    return [
      { status, shows, next: (answer: Answer | undefined) => after(known, operation, answer) },
    ]
  })
}

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

function list(state: DirectoryState): Outcome<DirectoryState> {
  const there = Object.entries(state).filter(([, { isDeletePending }]) => !isDeletePending)
  const names = there.map(([name]) => name).sort().join(' ') // prettier-ignore
  return { status: 200, shows: { names }, next: () => state }
}

function after(state: DirectoryState, operation: Operation, answer: Answer | undefined) {
  const { name, file = '', slots = 0, slot = 0, value = '', count = 1 } = operation
  const current = state[file] ?? { content: '' }
  if (name === 'delete') return without(state, file)
  if (name === 'get') {
    const seen = revealed(current, answer)
    return seen === WRONG ? WRONG : sorted({ ...state, [file]: seen })
  }
  const content = listOf(name === 'create' ? '0 '.repeat(slots).trim() : current.content)
  const isWritten = (at: number) => name === 'putRange' && at >= slot && at < slot + count
  const next = content.map((old, at) => (isWritten(at) ? value : old)).join(' ')
  const changed = retagged(state[file], { ...current, content: next }, answer)
  return changed === WRONG ? WRONG : sorted({ ...state, [file]: changed })
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
  const met = [...openRefusals(source, 'rename'), ...openRefusals(target, 'replaced')]
  const outcomes: Outcome<DirectoryState>[] = []
  for (const one of uses(source, 'write', { name: '' }, moment)) {
    for (const other of uses(target, 'write', { name: '' }, moment)) {
      const known = withLease(withLease(state, file, one.lease), to, other.lease)
      const exists: Refused | undefined = target === undefined || replaces === true ? undefined : [409, 'ResourceAlreadyExists'] // prettier-ignore
      const refused = [...met, one.refused, other.refused, exists].filter((each) => each !== undefined) // prettier-ignore
      if (refused.length > 0) outcomes.push(...refused.map((each) => refusal(state, each)))
      else outcomes.push({ status: 200, next: (answer) => renamed(known, { file, to }, answer) })
    }
  }
  return outcomes
}

function renamed(
  state: DirectoryState,
  { file, to }: { file: string; to: string },
  answer: Answer | undefined,
) {
  const { etag: _etag, ...rest } = state[file] ?? { content: '' }
  const moved = { ...rest, ...(answer?.etag !== undefined && { etag: answer.etag }) }
  return sorted({ ...without(state, file), [to]: moved })
}
