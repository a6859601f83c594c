// Lease outlived: a client went on as if it still had its lease. The server refused its write, or, worse, took it because
// it came without the lease's id. Also a renewal that came at the last moment.
import { changedNotes, headerOfEntry, isConditional, sentLeaseId, type ClientAct } from './act.ts'
import { effectOf } from './effect.ts'
import { mainNote } from '../entry.ts'
import {
  clientsOf,
  quoted,
  resourceOfAct,
  seconds,
  when,
  type Detector,
  type RaceContext,
} from './finding.ts'
import type { Note } from '../object.ts'
import { isLeaseRunning, type Lease } from '../../storage/shared/lease.ts'

/** A lease that one client has acquired, as long as the journal knows of it. */
type Held = {
  readonly key: string
  readonly holder: ClientAct
  /** Since the last renewal. */
  lease: Lease
  /** Who took it from its holder: broke it, or acquired or wrote after its end. */
  takenBy?: ClientAct
  isReported?: boolean
}

type Leases = {
  /** By object and lease id. */
  readonly byId: Map<string, Held>
  /** The last one of each client, by object and client. */
  readonly byHolder: Map<string, Held>
}

export function detectOutlivedLeases(context: RaceContext): Detector {
  const leases: Leases = { byId: new Map(), byHolder: new Map() }
  return (act) => {
    const note = mainNote(act.entry)
    if (note === undefined) return
    if (act.entry.errorCode !== undefined) {
      if (LEASE_REFUSALS.has(act.entry.errorCode)) refused(context, leases, act, note)
      return
    }
    if (!note.isWritten) return
    if (note.before?.lease !== note.after?.lease) follow(context, leases, act, note)
    accepted(context, leases, act)
  }
}

/** Refusals that whoever sends the id of a lease gets once it has ended. */
const LEASE_REFUSALS: ReadonlySet<string> = new Set([
  'LeaseLost',
  'LeaseIdMismatchWithBlobOperation',
  'LeaseIdMismatchWithContainerOperation',
  'LeaseIdMismatchWithFileOperation',
  'LeaseIdMismatchWithLeaseOperation',
  'LeaseIdMismatch',
  'LeaseNotPresentWithBlobOperation',
  'LeaseNotPresentWithContainerOperation',
  'LeaseNotPresentWithFileOperation',
  'LeaseNotPresentWithLeaseOperation',
  'LeaseNotPresent',
])

function follow(context: RaceContext, leases: Leases, act: ClientAct, note: Note): void {
  const { key } = note
  const [was, is] = [note.before?.lease, note.after?.lease]
  const before = was && leases.byId.get(`${key} ${was.id}`)
  const action = headerOfEntry(act.entry, 'x-ms-lease-action')?.toLowerCase()
  if (is !== undefined && is.id === was?.id) {
    if (before === undefined) return
    if (action === 'renew') late(context, act, before)
    if (is.isBroken === true && was.isBroken !== true) before.takenBy = act
    before.lease = is
    return
  }
  if (before !== undefined) {
    const isDeleted = note.after === undefined && isLeaseRunning(was, act.entry.startedMs)
    if (action === 'release' || action === 'change' || isDeleted) end(leases, before)
    else before.takenBy ??= act
  }
  if (is === undefined) return
  const held: Held = { key, holder: act, lease: is }
  leases.byId.set(`${key} ${is.id}`, held)
  leases.byHolder.set(`${key} ${act.client}`, held)
}

function end(leases: Leases, { key, lease, holder }: Held): void {
  leases.byId.delete(`${key} ${lease.id}`)
  leases.byHolder.delete(`${key} ${holder.client}`)
}

function late(context: RaceContext, act: ClientAct, { lease, holder }: Held): void {
  if (lease.endsAtMs === undefined) return
  const leftMs = lease.endsAtMs - act.entry.startedMs
  if (leftMs >= (lease.durationSeconds * 1_000) / 10) return
  const left =
    leftMs > 0
      ? `with ${seconds(leftMs)} of its ${lease.durationSeconds} s left`
      : `${seconds(-leftMs)} after it had expired; nobody had taken it yet`
  context.report({
    kind: 'lease outlived',
    resource: resourceOfAct(act),
    explanation:
      `${quoted(act)} renewed its lease on ${resourceOfAct(act)} ${left} (${when(act)}). ` +
      'A little later another client could have had it. Renew a lease at half its time.',
    clients: clientsOf([holder, act]),
    acts: [holder, act],
  })
}

function refused(context: RaceContext, leases: Leases, act: ClientAct, { key }: Note): void {
  const id = sentLeaseId(act.entry)
  const held = id === undefined ? undefined : leases.byId.get(`${key} ${id}`)
  if (held === undefined || held.isReported === true || !act.entry.writes) return
  const how = howItEnded(held, act)
  if (how === undefined) return
  // Renewing is how a holder learns that somebody has broken its lease.
  const isLeaseAction = headerOfEntry(act.entry, 'x-ms-lease-action') !== undefined
  if (how === 'was broken' && isLeaseAction) return
  held.isReported = true
  const acts = [held.holder, ...(held.takenBy === undefined ? [] : [held.takenBy]), act]
  context.report({
    kind: 'lease outlived',
    resource: resourceOfAct(act),
    explanation:
      `${quoted(held.holder)} had a lease on ${resourceOfAct(act)} (${when(held.holder)}). ` +
      `It ${how}${byWhom(held)} before ${quoted(act)} used it again (${when(act)}), which the ` +
      `server refused with ${act.entry.errorCode ?? ''}. ${REMEDY}`,
    clients: clientsOf([act, ...acts]),
    acts,
  })
}

const REMEDY =
  'Renew the lease at half its time, and stop working as soon as a renewal fails: ' +
  'what was done after the end of the lease was not protected.'

function accepted(context: RaceContext, leases: Leases, act: ClientAct): void {
  const { entry } = act
  if (!act.isNamed || sentLeaseId(entry) !== undefined || isConditional(entry)) return
  if (effectOf(entry) === undefined) return
  for (const { key } of changedNotes(entry)) {
    const held = leases.byHolder.get(`${key} ${act.client}`)
    if (held === undefined) continue
    const how = howItEnded(held, act)
    if (how === undefined) continue
    end(leases, held)
    if (held.isReported === true) continue
    const other = context.history.between(key, beginOf(held), Infinity)
    const taken = takenBetween(held, other, act)
    const acts = [held.holder, ...(taken === undefined ? [] : [taken]), act]
    context.report({
      kind: 'lease outlived',
      resource: resourceOfAct(act),
      explanation:
        `${quoted(act)} acquired a lease on ${resourceOfAct(act)} (${when(held.holder)}) and never released it. ` +
        `It ${how}${taken === undefined ? '' : ` and ${quoted(taken)} came in between (${when(taken)})`}. ` +
        `Then ${quoted(act)} wrote without the lease's id (${when(act)}), and the server took it. ` +
        'Send x-ms-lease-id with every write: the server refuses it once the lease has ended. Renew the lease at half its time.',
      clients: clientsOf([act, ...acts]),
      acts,
    })
  }
}

function beginOf({ holder, key }: Held): number {
  return holder.entry.notes.find((note) => note.key === key)?.after?.version ?? 0
}

/** Whoever took the lease, or changed the object, after its holder had acquired it. */
function takenBetween(
  { takenBy, holder }: Held,
  changes: Iterable<{ readonly act: ClientAct }>,
  { entry }: ClientAct,
): ClientAct | undefined {
  if (takenBy !== undefined && takenBy.client !== holder.client) return takenBy
  for (const { act } of changes) {
    if (act.client !== holder.client && act.entry.id < entry.id) return act
  }
  return undefined
}

/** undefined: it has not ended, or its holder ended it. */
function howItEnded({ lease, takenBy, holder }: Held, { entry }: ClientAct): string | undefined {
  const isOver = lease.endsAtMs !== undefined && lease.endsAtMs <= entry.startedMs
  if (lease.isBroken === true || (takenBy !== undefined && !isOver)) {
    return isOver && takenBy?.client !== holder.client ? 'was broken' : undefined
  }
  return isOver ? 'expired' : undefined
}

function byWhom({ takenBy, holder }: Held): string {
  if (takenBy === undefined || takenBy.client === holder.client) return ''
  return `, and ${quoted(takenBy)} took its place (${when(takenBy)}),`
}
