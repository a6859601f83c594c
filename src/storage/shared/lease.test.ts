// The tables of the pages "Lease Blob" and "Lease Container". A is the id of the lease, B and C are other ids,
// X is a generated one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from './error.ts'
import {
  checkLeaseForRead,
  checkLeaseForWrite,
  isInfinite,
  leaseState,
  leaseStatus,
  runLeaseAction,
  type Leasable,
  type Lease,
  type LeaseAction,
  type LeaseState,
} from './lease.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 12)
const A = 'aaaaaaaa-0000-4000-8000-000000000000'
const B = 'bbbbbbbb-0000-4000-8000-000000000000'
const C = 'cccccccc-0000-4000-8000-000000000000'
const X = 'ffffffff-0000-4000-8000-000000000000'

const STATES = ['available', 'leased', 'breaking', 'broken', 'expired'] as const

// All ways to get into each state.
const INFINITE: Lease = { id: A, durationSeconds: -1 }
const FIXED: Lease = { id: A, durationSeconds: 30, endsAtMs: NOW_MS + 10_000 }
const LEASES: Readonly<Record<LeaseState, readonly (Lease | undefined)[]>> = {
  available: [undefined],
  leased: [INFINITE, FIXED],
  breaking: [
    { ...INFINITE, endsAtMs: NOW_MS + 5000, isBroken: true },
    { ...FIXED, endsAtMs: NOW_MS + 5000, isBroken: true },
  ],
  broken: [
    { ...INFINITE, endsAtMs: NOW_MS, isBroken: true },
    { ...FIXED, endsAtMs: NOW_MS - 5000, isBroken: true },
  ],
  expired: [{ ...FIXED, endsAtMs: NOW_MS }],
}

const IDS: ReadonlyMap<string, string> = new Map([
  [A, 'A'],
  [B, 'B'],
  [C, 'C'],
  [X, 'X'],
])

/** `available`, `leased A`, … or the error code. */
function outcome(run: () => Lease | undefined): string {
  try {
    const lease = run()
    const state = leaseState(lease, NOW_MS)
    return lease === undefined ? state : `${state} ${IDS.get(lease.id)}`
  } catch (error) {
    assert(error instanceof StorageError)
    return `${error.status} ${error.code}`
  }
}

const acquire = (proposedId?: string): LeaseAction => {
  const terms = { action: 'acquire', durationSeconds: 60, newId: X } as const
  return proposedId === undefined ? terms : { ...terms, proposedId }
}
const renew = (id: string): LeaseAction => ({ action: 'renew', id })
const change = (id: string, proposedId: string): LeaseAction => ({
  action: 'change',
  id,
  proposedId,
})
const release = (id: string): LeaseAction => ({ action: 'release', id })
const breakIn = (periodSeconds?: number): LeaseAction =>
  periodSeconds === undefined ? { action: 'break' } : { action: 'break', periodSeconds }

const PRESENT = '409 LeaseAlreadyPresent'
const ABSENT = '409 LeaseNotPresentWithLeaseOperation'
const MISMATCH = '409 LeaseIdMismatchWithLeaseOperation'
const NO_ACQUIRE = '409 LeaseIsBreakingAndCannotBeAcquired'
const NO_CHANGE = '409 LeaseIsBreakingAndCannotBeChanged'
const NO_RENEW = '409 LeaseIsBrokenAndCannotBeRenewed'

type Outcomes = readonly [string, string, string, string, string]

// prettier-ignore
const ACTIONS: readonly (readonly [name: string, action: LeaseAction, ...Outcomes])[] = [
  //                             available   leased        breaking      broken       expired
  ['acquire',      acquire(),    'leased X', PRESENT,      PRESENT,      'leased X',  'leased X'],
  ['acquire A',    acquire(A),   'leased A', 'leased A',   NO_ACQUIRE,   'leased A',  'leased A'],
  ['acquire B',    acquire(B),   'leased B', PRESENT,      PRESENT,      'leased B',  'leased B'],
  ['renew A',      renew(A),     MISMATCH,   'leased A',   NO_RENEW,     NO_RENEW,    'leased A'],
  ['renew B',      renew(B),     MISMATCH,   MISMATCH,     MISMATCH,     MISMATCH,    MISMATCH],
  ['change A → B', change(A, B), ABSENT,     'leased B',   NO_CHANGE,    ABSENT,      ABSENT],
  ['change A → A', change(A, A), ABSENT,     'leased A',   NO_CHANGE,    ABSENT,      ABSENT],
  ['change B → A', change(B, A), ABSENT,     'leased A',   MISMATCH,     ABSENT,      ABSENT],
  ['change B → C', change(B, C), ABSENT,     MISMATCH,     MISMATCH,     ABSENT,      ABSENT],
  ['release A',    release(A),   MISMATCH,   'available',  'available',  'available', 'available'],
  ['release B',    release(B),   MISMATCH,   MISMATCH,     MISMATCH,     MISMATCH,    MISMATCH],
  ['break in 3 s', breakIn(3),   ABSENT,     'breaking A', 'breaking A', 'broken A',  'broken A'],
  ['break in 0 s', breakIn(0),   ABSENT,     'broken A',   'broken A',   'broken A',  'broken A'],
]

for (const [name, action, ...outcomes] of ACTIONS) {
  for (const [column, state] of STATES.entries()) {
    test(`${name} on ${state}: ${outcomes[column]}`, () => {
      for (const lease of LEASES[state]) {
        assert.equal(leaseState(lease, NOW_MS), state)
        const after = outcome(() => runLeaseAction(lease, action, NOW_MS).lease)
        assert.equal(after, outcomes[column])
      }
    })
  }
}

test('a released lease can’t be renewed, changed, released or broken', () => {
  const { lease } = runLeaseAction(INFINITE, release(A), NOW_MS)
  const codes = [renew(A), change(A, B), release(A), breakIn()].map((action) =>
    outcome(() => runLeaseAction(lease, action, NOW_MS).lease),
  )
  assert.deepEqual(codes, [MISMATCH, ABSENT, MISMATCH, ABSENT])
})

test('acquiring again with the own id restarts the lease with the new duration', () => {
  const acquired = runLeaseAction(INFINITE, acquire(A), NOW_MS)
  const lease = { id: A, durationSeconds: 60, endsAtMs: NOW_MS + 60_000 }
  assert.deepEqual(acquired, { action: 'acquire', lease, leaseId: A })
})

test('a lease of -1 seconds is infinite', () => {
  const forever: LeaseAction = { action: 'acquire', durationSeconds: -1, newId: X }
  const { lease } = runLeaseAction(undefined, forever, NOW_MS)
  assert.deepEqual(lease, { id: X, durationSeconds: -1 })
  assert.equal(leaseState(lease, Number.MAX_SAFE_INTEGER), 'leased')
})

test('renewing restarts the lease with the same duration', () => {
  const renewed = runLeaseAction(FIXED, renew(A), NOW_MS)
  const lease = { ...FIXED, endsAtMs: NOW_MS + 30_000 }
  assert.deepEqual(renewed, { action: 'renew', lease, leaseId: A })
  assert.deepEqual(runLeaseAction(INFINITE, renew(A), NOW_MS).lease, INFINITE)
})

test('changing keeps the duration and the end', () => {
  const changed = runLeaseAction(FIXED, change(A, B), NOW_MS)
  assert.deepEqual(changed, { action: 'change', lease: { ...FIXED, id: B }, leaseId: B })
})

test('acquiring a broken lease removes the break', () => {
  for (const broken of LEASES.broken) {
    const { lease } = runLeaseAction(broken, acquire(A), NOW_MS)
    assert.deepEqual(lease, { id: A, durationSeconds: 60, endsAtMs: NOW_MS + 60_000 })
  }
})

const breaking = (leftMs: number): Lease => ({
  ...INFINITE,
  endsAtMs: NOW_MS + leftMs,
  isBroken: true,
})
const leasedFor = (leftMs: number): Lease => ({ ...FIXED, endsAtMs: NOW_MS + leftMs })

// prettier-ignore
const BREAKS: readonly (readonly [string, Lease, number | undefined, leftMs: number, number])[] = [
  //                                        period     left    x-ms-lease-time
  ['infinite',           INFINITE,          undefined, 0,      0],
  ['infinite',           INFINITE,          0,         0,      0],
  ['infinite',           INFINITE,          1,         1000,   1],
  ['infinite',           INFINITE,          60,        60_000, 60],
  ['10 s left',          leasedFor(10_000), undefined, 10_000, 10],
  ['10 s left',          leasedFor(10_000), 0,         0,      0],
  ['10 s left',          leasedFor(10_000), 3,         3000,   3],
  ['10 s left',          leasedFor(10_000), 10,        10_000, 10],
  ['10 s left',          leasedFor(10_000), 60,        10_000, 10],
  ['1.2 s left',         leasedFor(1200),   undefined, 1200,   2],
  ['1 ms left',          leasedFor(1),      60,        1,      1],
  ['breaking, 5 s left', breaking(5000),    undefined, 5000,   5],
  ['breaking, 5 s left', breaking(5000),    0,         0,      0],
  ['breaking, 5 s left', breaking(5000),    3,         3000,   3],
  ['breaking, 5 s left', breaking(5000),    60,        5000,   5],
  ['broken just now',    breaking(0),       undefined, 0,      0],
  ['broken long ago',    breaking(-9000),   60,        -9000,  0],
  ['expired just now',   leasedFor(0),      60,        0,      0],
  ['expired long ago',   leasedFor(-9000),  undefined, -9000,  0],
]

for (const [name, lease, period, leftMs, leaseTimeSeconds] of BREAKS) {
  test(`breaking (${name}) with period ${period ?? 'unset'} takes ${leaseTimeSeconds} s`, () => {
    const result = runLeaseAction(lease, breakIn(period), NOW_MS)
    const broken = { ...lease, endsAtMs: NOW_MS + leftMs, isBroken: true }
    assert.deepEqual(result, { action: 'break', lease: broken, leaseTimeSeconds })
    const state = leftMs > 0 ? 'breaking' : 'broken'
    assert.equal(leaseState(result.lease, NOW_MS), state)
  })
}

test('no sequence of breaks extends a lease', () => {
  const period = fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined })
  const steps = fc.array(fc.tuple(period, fc.nat(20_000)), { maxLength: 8 })
  fc.assert(
    fc.property(fc.constantFrom(INFINITE, FIXED), steps, (first, breaks) => {
      let [lease, nowMs]: [Lease | undefined, number] = [first, NOW_MS]
      for (const [periodSeconds, passedMs] of breaks) {
        const result = runLeaseAction(lease, breakIn(periodSeconds), nowMs)
        assert((result.lease?.endsAtMs ?? Infinity) <= (lease?.endsAtMs ?? Infinity))
        const waitedMs = nowMs + (result.leaseTimeSeconds ?? 0) * 1000
        assert.equal(leaseState(result.lease, waitedMs), 'broken')
        lease = result.lease
        nowMs += passedMs
      }
    }),
  )
})

const BOUNDARIES: readonly (readonly [string, Lease, number, LeaseState])[] = [
  ['a lease, 1 ms before its end', leasedFor(0), -1, 'leased'],
  ['a lease, at its end', leasedFor(0), 0, 'expired'],
  ['a break, 1 ms before its end', breaking(0), -1, 'breaking'],
  ['a break, at its end', breaking(0), 0, 'broken'],
]

for (const [name, lease, passedMs, state] of BOUNDARIES) {
  test(`${name}: ${state}`, () => assert.equal(leaseState(lease, NOW_MS + passedMs), state))
}

test('each state has its status and duration', () => {
  const statuses = STATES.map((state) => LEASES[state].map((lease) => leaseStatus(lease, NOW_MS)))
  const [unlocked, locked] = ['unlocked', 'locked']
  assert.deepEqual(statuses, [
    [{ status: unlocked, state: 'available' }],
    [
      { status: locked, state: 'leased', duration: 'infinite' },
      { status: locked, state: 'leased', duration: 'fixed' },
    ],
    Array.from({ length: 2 }, () => ({ status: locked, state: 'breaking' })),
    Array.from({ length: 2 }, () => ({ status: unlocked, state: 'broken' })),
    [{ status: unlocked, state: 'expired' }],
  ])
})

test('only a lease without an end is infinite', () => {
  const infinite = STATES.flatMap((state) => LEASES[state]).filter(isInfinite)
  assert.deepEqual(infinite, [INFINITE])
})

const MISSING = '412 LeaseIdMissing'
const LOST = '412 LeaseLost'
const ABSENT_B = '412 LeaseNotPresentWithBlobOperation'
const OTHER_B = '412 LeaseIdMismatchWithBlobOperation'
const ABSENT_C = '412 LeaseNotPresentWithContainerOperation'
const OTHER_C = '412 LeaseIdMismatchWithContainerOperation'
const ABSENT_F = '412 LeaseNotPresentWithFileOperation'
const OTHER_F = '412 LeaseIdMismatchWithFileOperation'

const NONE = undefined

type Use = readonly [Leasable, 'write' | 'read', id: string | undefined, ...Outcomes]

// For containers, `write` means Delete Container.
// prettier-ignore
const USES: readonly Use[] = [
  //                           available    leased      breaking      broken       expired
  ['blob',      'write', A,    ABSENT_B,    'leased A', 'breaking A', LOST,        LOST],
  ['blob',      'write', B,    ABSENT_B,    OTHER_B,    OTHER_B,      ABSENT_B,    ABSENT_B],
  ['blob',      'write', NONE, 'available', MISSING,    MISSING,      'available', 'available'],
  ['blob',      'read',  A,    ABSENT_B,    'leased A', 'breaking A', LOST,        LOST],
  ['blob',      'read',  B,    ABSENT_B,    OTHER_B,    OTHER_B,      ABSENT_B,    ABSENT_B],
  ['blob',      'read',  NONE, 'available', 'leased A', 'breaking A', 'broken A',  'expired A'],
  ['container', 'write', A,    ABSENT_C,    'leased A', 'breaking A', LOST,        LOST],
  ['container', 'write', B,    ABSENT_C,    OTHER_C,    OTHER_C,      ABSENT_C,    ABSENT_C],
  ['container', 'write', NONE, 'available', MISSING,    MISSING,      'available', 'available'],
  ['container', 'read',  A,    ABSENT_C,    'leased A', 'breaking A', LOST,        LOST],
  ['container', 'read',  B,    ABSENT_C,    OTHER_C,    OTHER_C,      ABSENT_C,    ABSENT_C],
  ['container', 'read',  NONE, 'available', 'leased A', 'breaking A', 'broken A',  'expired A'],
  ['share',     'write', A,    ABSENT_C,    'leased A', 'breaking A', LOST,        LOST],
  ['share',     'write', B,    ABSENT_C,    OTHER_C,    OTHER_C,      ABSENT_C,    ABSENT_C],
  ['share',     'read',  B,    ABSENT_C,    OTHER_C,    OTHER_C,      ABSENT_C,    ABSENT_C],
  ['file',      'write', A,    ABSENT_F,    'leased A', 'breaking A', LOST,        LOST],
  ['file',      'write', B,    ABSENT_F,    OTHER_F,    OTHER_F,      ABSENT_F,    ABSENT_F],
  ['file',      'read',  B,    ABSENT_F,    OTHER_F,    OTHER_F,      ABSENT_F,    ABSENT_F],
]

function useLease(lease: Lease | undefined, [of, kind, id]: Use): Lease | undefined {
  if (kind === 'write') return checkLeaseForWrite(lease, id, NOW_MS, of)
  checkLeaseForRead(lease, id, NOW_MS, of)
  return lease
}

for (const use of USES) {
  const [of, kind, id, ...outcomes] = use
  const name = `${kind} of a ${of} with ${IDS.get(id ?? '') ?? 'no'} id`
  for (const [column, state] of STATES.entries()) {
    test(`${name}, ${state}: ${outcomes[column]}`, () => {
      for (const lease of LEASES[state]) {
        const after = outcome(() => useLease(lease, use))
        assert.equal(after, outcomes[column])
      }
    })
  }
}

test('an expired lease can’t be renewed after a write to the blob', () => {
  const [expired] = LEASES.expired
  const written = checkLeaseForWrite(expired, undefined, NOW_MS, 'blob')
  const after = outcome(() => runLeaseAction(written, renew(A), NOW_MS).lease)
  assert.equal(after, MISMATCH)
})

test('an expired lease of a container can be renewed after a write', () => {
  const [expired] = LEASES.expired
  checkLeaseForRead(expired, undefined, NOW_MS, 'container')
  const after = outcome(() => runLeaseAction(expired, renew(A), NOW_MS).lease)
  assert.equal(after, 'leased A')
})
