// What clients do over SMB to the files of a directory.
import type { Operation } from '../history/call.ts'
import { sorted, without, type DirectoryState, type File } from './files.ts'
import { leaseViews } from './lease.ts'
import { refusal, type Moment, type Outcome } from './model.ts'
import { openConflicts } from './open.ts'
import { listOf } from './value.ts'

type Outcomes = readonly Outcome<DirectoryState>[]

export function smbOutcomes(state: DirectoryState, operation: Operation, moment: Moment): Outcomes {
  const { name, handle = '', to = '' } = operation
  if (name === 'open') return open(state, operation, moment)
  const [place, file] = Object.entries(state).find(([, { opens }]) => opens?.[handle] !== undefined) ?? [] // prettier-ignore
  if (place === undefined || file === undefined) return []
  const done = (after: DirectoryState): Outcomes => [{ status: 200, next: () => sorted(after) }]
  switch (name) {
    case 'read':
      return [{ status: 200, shows: { value: file.content }, next: () => state }] // prettier-ignore
    case 'write':
      return done({ ...state, [place]: changed(file, written(file.content, operation)) })
    case 'remove':
      return done({ ...state, [place]: { ...file, isDeletePending: true } })
    case 'move':
      if (to === place) return done({ ...state, [place]: changed(file, file.content) })
      if (state[to] !== undefined) return [refusal(state, [409, 'OBJECT_NAME_COLLISION']), refusal(state, [409, 'DELETE_PENDING'])] // prettier-ignore
      return done({ ...without(state, place), [to]: changed(file, file.content) })
    default:
      return done(closed(state, place, file, handle))
  }
}

/** Only reading goes together with a lease. */
function open(state: DirectoryState, operation: Operation, moment: Moment): Outcomes {
  const { file = '', handle = '', access = '', share = '', disposition } = operation
  const current = state[file]
  const opening = { access, share }
  if (current === undefined) {
    if (disposition !== 'create') return [refusal(state, [404, 'OBJECT_NAME_NOT_FOUND'])]
    const created: File = { content: '', opens: { [handle]: opening } }
    return [{ status: 200, next: () => sorted({ ...state, [file]: created }) }]
  }
  if (current.isDeletePending) return [refusal(state, [409, 'DELETE_PENDING'])]
  if (disposition === 'create') return [refusal(state, [409, 'OBJECT_NAME_COLLISION'])]
  const opens = current.opens ?? {}
  return leaseViews(current.lease, moment).map(({ state: lease, lease: known }) => {
    const seen = known === undefined ? current : { ...current, lease: known }
    const isLeased = lease === 'leased' || lease === 'breaking'
    const isRefused = openConflicts(opens, opening) || (isLeased && /[WD]/.test(access))
    if (isRefused) return refusal({ ...state, [file]: seen }, [409, 'SHARING_VIOLATION'])
    return { status: 200, next: () => ({ ...state, [file]: { ...seen, opens: { ...opens, [handle]: opening } } }) } // prettier-ignore
  })
}

/** Its ETag is a new one, that nobody has heard of. */
function changed(file: File, content: string): File {
  const { etag: _, ...rest } = file
  return { ...rest, content }
}

/** It becomes longer if need be. */
function written(content: string, { slot = 0, count = 1, value = '' }: Operation): string {
  const slots = [...listOf(content)]
  while (slots.length < slot + count) slots.push('0')
  return slots.map((old, at) => (at >= slot && at < slot + count ? value : old)).join(' ')
}

function closed(state: DirectoryState, place: string, file: File, handle: string): DirectoryState {
  const { opens: { [handle]: own, ...others } = {}, ...rest } = file
  if (file.isDeletePending && Object.keys(others).length === 0) return without(state, place)
  const opens = Object.keys(others).length > 0 && { opens: others }
  const isWritten = own !== undefined && /[WD]/.test(own.access)
  return { ...state, [place]: { ...(isWritten ? changed(rest, rest.content) : rest), ...opens } }
}
