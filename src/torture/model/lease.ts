// Leases, as the pages "Lease Blob", "Lease Container" and "Lease File" have them in their tables.
import type { Moment, Outcome, Refused } from './model.ts'
import { endingAfter, hasEnded, type Ending } from './time.ts'
import type { Operation } from '../history/call.ts'

export type Lease = {
  readonly id: string
  readonly seconds: number
  /** Infinite without it. */
  readonly ending?: Ending
  readonly isBroken?: true
}

type LeaseState = 'available' | 'leased' | 'breaking' | 'broken' | 'expired'

export const INFINITE = -1

/** What the lease may be during a call. */
export function leaseViews(
  lease: Lease | undefined,
  moment: Moment,
): readonly { readonly state: LeaseState; readonly lease: Lease | undefined }[] {
  if (lease === undefined) return [{ state: 'available', lease }]
  const { ending } = lease
  if (ending === undefined) return [{ state: 'leased', lease }]
  return hasEnded(ending, moment).map(({ isOver, ending: known }) => {
    const state = lease.isBroken ? (isOver ? 'broken' : 'breaking') : isOver ? 'expired' : 'leased'
    return { state, lease: { ...lease, ending: known } }
  })
}

const PRESENT = 'LeaseAlreadyPresent'
const ABSENT = 'LeaseNotPresentWithLeaseOperation'
const MISMATCH = 'LeaseIdMismatchWithLeaseOperation'
const OK = ''
const COLUMNS = ['available', 'leased', 'breaking', 'broken', 'expired'] as const

// prettier-ignore
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  //                available leased    breaking                              broken                             expired
  'acquire own':   [OK,       OK,       'LeaseIsBreakingAndCannotBeAcquired', OK,                                OK],
  'acquire other': [OK,       PRESENT,  PRESENT,                              OK,                                OK],
  'renew own':     [MISMATCH, OK,       'LeaseIsBrokenAndCannotBeRenewed',    'LeaseIsBrokenAndCannotBeRenewed', OK],
  'renew other':   [MISMATCH, MISMATCH, MISMATCH,                             MISMATCH,                          MISMATCH],
  'change own':    [ABSENT,   OK,       'LeaseIsBreakingAndCannotBeChanged',  ABSENT,                            ABSENT],
  'change again':  [ABSENT,   OK,       MISMATCH,                             ABSENT,                            ABSENT],
  'change other':  [ABSENT,   MISMATCH, MISMATCH,                             ABSENT,                            ABSENT],
  'release own':   [MISMATCH, OK,       OK,                                   OK,                                OK],
  'release other': [MISMATCH, MISMATCH, MISMATCH,                             MISMATCH,                          MISMATCH],
  'break any':     [ABSENT,   OK,       OK,                                   OK,                                OK],
}

const STATUS: Readonly<Record<string, number>> = { acquire: 201, renew: 200, change: 200, release: 200, break: 202 } // prettier-ignore

export function isLeaseAction({ name }: Operation): boolean {
  return STATUS[name] !== undefined
}

/** The outcomes of an action; `keep` makes the state of the object from its lease afterwards. */
export function leaseOutcomes<S>(
  lease: Lease | undefined,
  operation: Operation,
  moment: Moment,
  slackMs: number,
  keep: (lease: Lease | undefined) => S,
): readonly Outcome<S>[] {
  const { name, id, to } = operation
  return leaseViews(lease, moment).map(({ state, lease: seen }) => {
    const isOwn = lease !== undefined && lease.id === id
    const again = name === 'change' && lease?.id === to && !isOwn
    const whose = name === 'break' ? 'any' : again ? 'again' : isOwn ? 'own' : 'other'
    const code = ACTIONS[`${name} ${whose}`]?.[COLUMNS.indexOf(state)] ?? ABSENT
    if (code !== OK) return { status: 409, code, next: () => keep(seen) }
    return {
      status: STATUS[name] ?? 0,
      ...(name !== 'break' &&
        name !== 'release' && { shows: { id: name === 'change' ? (to ?? '') : (id ?? '') } }),
      next: () => keep(changed(seen, operation, moment, slackMs)),
    }
  })
}

function changed(
  lease: Lease | undefined,
  { name, id = '', to = '', seconds }: Operation,
  moment: Moment,
  slackMs: number,
): Lease | undefined {
  if (name === 'acquire') return started(id, seconds ?? INFINITE, moment, slackMs)
  if (lease === undefined || name === 'release') return undefined
  if (name === 'renew') return started(id, lease.seconds, moment, slackMs)
  if (name === 'change') return { ...lease, id: to }
  return broken(lease, seconds, moment, slackMs)
}

function started(id: string, seconds: number, moment: Moment, slackMs: number): Lease {
  if (seconds === INFINITE) return { id, seconds }
  return { id, seconds, ending: endingAfter(seconds, moment, slackMs) }
}

/** A break never extends a lease. Without a period, an infinite lease ends at once. */
function broken(lease: Lease, seconds: number | undefined, moment: Moment, slackMs: number): Lease {
  const asked = endingAfter(seconds ?? 0, moment, slackMs)
  const own = lease.ending
  if (own === undefined) return { ...lease, isBroken: true, ending: asked }
  if (seconds === undefined) return { ...lease, isBroken: true }
  const ending = { from: Math.min(own.from, asked.from), until: Math.min(own.until, asked.until) }
  return { ...lease, isBroken: true, ending }
}

export type LeaseCodes = { readonly absent: string; readonly mismatch: string }

// prettier-ignore
const USES: Readonly<Record<string, Readonly<Record<LeaseState, 'keep' | 'forget' | 'missing' | 'lost' | keyof LeaseCodes>>>> = {
  'write none': { available: 'keep',   leased: 'missing',  breaking: 'missing',  broken: 'forget', expired: 'forget' },
  'read none':  { available: 'keep',   leased: 'keep',     breaking: 'keep',     broken: 'keep',   expired: 'keep' },
  'own':        { available: 'absent', leased: 'keep',     breaking: 'keep',     broken: 'lost',   expired: 'lost' },
  'other':      { available: 'absent', leased: 'mismatch', breaking: 'mismatch', broken: 'absent', expired: 'absent' },
}

export type LeaseUse = { readonly lease: Lease | undefined; readonly refused?: Refused }

/** What an operation that sends `id`, or none, meets; a write without an id forgets a lease that has ended. */
export function leaseUses(
  lease: Lease | undefined,
  use: { readonly kind: 'read' | 'write'; readonly id: string | undefined },
  codes: LeaseCodes,
  moment: Moment,
): readonly LeaseUse[] {
  const { kind, id } = use
  const row = id === undefined ? `${kind} none` : id === lease?.id ? 'own' : 'other'
  return leaseViews(lease, moment).map(({ state, lease: seen }): LeaseUse => {
    const met = USES[row]?.[state] ?? 'keep'
    if (met === 'keep') return { lease: seen }
    if (met === 'forget') return { lease: undefined }
    if (met === 'missing') return { lease: seen, refused: [412, 'LeaseIdMissing'] }
    if (met === 'lost') return { lease: seen, refused: [412, 'LeaseLost'] }
    return { lease: seen, refused: [412, codes[met]] }
  })
}
