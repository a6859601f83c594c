import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StorageError } from '../../storage/shared/error.ts'
import type { Lease, LeaseAction, LeaseResult } from '../../storage/shared/lease.ts'
import type { HeaderFields } from '../../http/protocol/header.ts'
import { decodeLeaseAction, leaseAnswer, leaseHeaders } from './lease-header.ts'

const A = 'aaaaaaaa-0000-4000-8000-000000000000'
const B = 'bbbbbbbb-0000-4000-8000-000000000000'
const X = 'ffffffff-0000-4000-8000-000000000000'

const ACTION = 'x-ms-lease-action'
const DURATION = 'x-ms-lease-duration'
const PROPOSED = 'x-ms-proposed-lease-id'
const ID = 'x-ms-lease-id'
const PERIOD = 'x-ms-lease-break-period'

const acquired = (durationSeconds: number, proposedId?: string): LeaseAction => {
  const terms = { action: 'acquire', durationSeconds, newId: X } as const
  return proposedId === undefined ? terms : { ...terms, proposedId }
}

const BRACED = `{${A.toUpperCase()}}`

// prettier-ignore
const ACCEPTED: readonly (readonly [HeaderFields, LeaseAction])[] = [
  [{ [ACTION]: 'acquire', [DURATION]: '-1' }, acquired(-1)],
  [{ [ACTION]: 'acquire', [DURATION]: '15' }, acquired(15)],
  [{ [ACTION]: 'acquire', [DURATION]: '60' }, acquired(60)],
  [{ [ACTION]: 'Acquire', [DURATION]: '60' }, acquired(60)],
  [{ [ACTION]: 'acquire', [DURATION]: '30', [PROPOSED]: A }, acquired(30, A)],
  [{ [ACTION]: 'acquire', [DURATION]: '30', [PROPOSED]: BRACED }, acquired(30, A)],
  [{ [ACTION]: 'acquire', [DURATION]: '30', [PROPOSED]: '' }, acquired(30)],
  [{ [ACTION]: 'renew', [ID]: A }, { action: 'renew', id: A }],
  [{ [ACTION]: 'renew', [ID]: A.replaceAll('-', '') }, { action: 'renew', id: A }],
  [{ [ACTION]: 'change', [ID]: A, [PROPOSED]: B }, { action: 'change', id: A, proposedId: B }],
  [{ [ACTION]: 'release', [ID]: A }, { action: 'release', id: A }],
  [{ [ACTION]: 'break' }, { action: 'break' }],
  [{ [ACTION]: 'break', [ID]: A }, { action: 'break' }],
  [{ [ACTION]: 'break', [PERIOD]: '0' }, { action: 'break', periodSeconds: 0 }],
  [{ [ACTION]: 'break', [PERIOD]: '60' }, { action: 'break', periodSeconds: 60 }],
]

for (const [headers, action] of ACCEPTED) {
  test(`${JSON.stringify(headers)} decodes to ${JSON.stringify(action)}`, () => {
    assert.deepEqual(
      decodeLeaseAction(headers, () => X),
      action,
    )
  })
}

// prettier-ignore
const REFUSED: readonly (readonly [HeaderFields, code: string, header: string])[] = [
  [{}, 'MissingRequiredHeader', ACTION],
  [{ [ACTION]: '' }, 'MissingRequiredHeader', ACTION],
  [{ [ACTION]: 'steal' }, 'InvalidHeaderValue', ACTION],
  [{ [ACTION]: 'acquire' }, 'MissingRequiredHeader', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: '-2' }, 'InvalidHeaderValue', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: '0' }, 'InvalidHeaderValue', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: '14' }, 'InvalidHeaderValue', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: '61' }, 'InvalidHeaderValue', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: 'infinite' }, 'InvalidHeaderValue', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: '15.5' }, 'InvalidHeaderValue', DURATION],
  [{ [ACTION]: 'acquire', [DURATION]: '15', [PROPOSED]: 'mine' }, 'InvalidHeaderValue', PROPOSED],
  [{ [ACTION]: 'renew' }, 'MissingRequiredHeader', ID],
  [{ [ACTION]: 'renew', [ID]: 'mine' }, 'InvalidHeaderValue', ID],
  [{ [ACTION]: 'change', [PROPOSED]: B }, 'MissingRequiredHeader', ID],
  [{ [ACTION]: 'change', [ID]: A }, 'MissingRequiredHeader', PROPOSED],
  [{ [ACTION]: 'change', [ID]: A, [PROPOSED]: 'mine' }, 'InvalidHeaderValue', PROPOSED],
  [{ [ACTION]: 'release' }, 'MissingRequiredHeader', ID],
  [{ [ACTION]: 'break', [PERIOD]: '-1' }, 'InvalidHeaderValue', PERIOD],
  [{ [ACTION]: 'break', [PERIOD]: '61' }, 'InvalidHeaderValue', PERIOD],
  [{ [ACTION]: 'break', [PERIOD]: 'now' }, 'InvalidHeaderValue', PERIOD],
]

for (const [headers, code, header] of REFUSED) {
  test(`${JSON.stringify(headers)} → ${code}, ${header}`, () => {
    assert.throws(
      () => decodeLeaseAction(headers, () => X),
      (error) =>
        error instanceof StorageError &&
        error.status === 400 &&
        error.code === code &&
        error.details['HeaderName'] === header,
    )
  })
}

const NOW_MS = Date.UTC(2026, 5, 1, 12)
const LEASE: Lease = { id: A, durationSeconds: 15, endsAtMs: NOW_MS + 15_000 }

const ANSWERS: readonly (readonly [LeaseResult, status: number, headers: readonly string[]])[] = [
  [{ action: 'acquire', lease: LEASE, leaseId: A }, 201, [ID, A]],
  [{ action: 'renew', lease: LEASE, leaseId: A }, 200, [ID, A]],
  [{ action: 'change', lease: LEASE, leaseId: A }, 200, [ID, A]],
  [{ action: 'release', lease: undefined }, 200, []],
  [{ action: 'break', lease: LEASE, leaseTimeSeconds: 15 }, 202, ['x-ms-lease-time', '15']],
  [{ action: 'break', lease: LEASE, leaseTimeSeconds: 0 }, 202, ['x-ms-lease-time', '0']],
]

for (const [result, status, headers] of ANSWERS) {
  test(`${result.action} is answered with ${[status, ...headers].join(' ')}`, () => {
    assert.deepEqual(leaseAnswer(result), { status, headers })
  })
}

const ENCODED: readonly (readonly [Lease | undefined, string, string, ...string[]])[] = [
  [undefined, 'unlocked', 'available'],
  [LEASE, 'locked', 'leased', 'x-ms-lease-duration', 'fixed'],
  [{ id: A, durationSeconds: -1 }, 'locked', 'leased', 'x-ms-lease-duration', 'infinite'],
  [{ ...LEASE, isBroken: true }, 'locked', 'breaking'],
  [{ ...LEASE, isBroken: true, endsAtMs: NOW_MS }, 'unlocked', 'broken'],
  [{ ...LEASE, endsAtMs: NOW_MS }, 'unlocked', 'expired'],
]

for (const [lease, status, state, ...duration] of ENCODED) {
  test(`a lease is encoded as ${[status, state, ...duration].join(' ')}`, () => {
    const headers = ['x-ms-lease-status', status, 'x-ms-lease-state', state, ...duration]
    assert.deepEqual(leaseHeaders(lease, NOW_MS), headers)
  })
}
