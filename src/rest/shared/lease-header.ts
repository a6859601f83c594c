// The headers of leases, the same for blobs, containers, shares and files: decodes the action of a request, and
// encodes its answer and the state of a lease.
import { missingHeader } from '../../storage/shared/error.ts'
import {
  INFINITE_DURATION_SECONDS,
  leaseStatus,
  type Lease,
  type LeaseAction,
  type LeaseResult,
} from '../../storage/shared/lease.ts'
import {
  optionalGuid,
  optionalInt,
  optionalWord,
  requiredHeader,
  requiredInt,
  type Bounds,
  type HeaderFields,
} from '../../http/protocol/header.ts'

const ACTIONS = ['acquire', 'renew', 'change', 'release', 'break'] as const

const DURATION_SECONDS: Bounds = { min: 15, max: 60 }
const BREAK_PERIOD_SECONDS: Bounds = { min: 0, max: 60 }

/** `newId` makes the id of a lease if the client proposes none. */
export function decodeLeaseAction(headers: HeaderFields, newId: () => string): LeaseAction {
  const action = optionalWord(headers, 'x-ms-lease-action', ACTIONS)
  switch (action) {
    case undefined:
      throw missingHeader('x-ms-lease-action')
    case 'acquire':
      return decodeAcquire(headers, newId)
    case 'renew':
    case 'release':
      return { action, id: requiredGuid(headers, 'x-ms-lease-id') }
    case 'change': {
      const id = requiredGuid(headers, 'x-ms-lease-id')
      return { action, id, proposedId: requiredGuid(headers, 'x-ms-proposed-lease-id') }
    }
    case 'break': {
      const periodSeconds = optionalInt(headers, 'x-ms-lease-break-period', BREAK_PERIOD_SECONDS)
      return periodSeconds === undefined ? { action } : { action, periodSeconds }
    }
  }
}

function decodeAcquire(headers: HeaderFields, newId: () => string): LeaseAction {
  const durationSeconds = decodeDuration(headers, 'x-ms-lease-duration')
  const proposedId = optionalGuid(headers, 'x-ms-proposed-lease-id')
  const terms = { action: 'acquire', durationSeconds, newId: newId() } as const
  return proposedId === undefined ? terms : { ...terms, proposedId }
}

/** 15 to 60 seconds, or -1 for ever. */
export function decodeDuration(headers: HeaderFields, name: string): number {
  const text = requiredHeader(headers, name)
  if (text === String(INFINITE_DURATION_SECONDS)) return INFINITE_DURATION_SECONDS
  return requiredInt(headers, name, DURATION_SECONDS)
}

function requiredGuid(headers: HeaderFields, name: string): string {
  const id = optionalGuid(headers, name)
  if (id === undefined) throw missingHeader(name)
  return id
}

const STATUS: Readonly<Record<LeaseAction['action'], number>> = {
  acquire: 201,
  renew: 200,
  change: 200,
  release: 200,
  break: 202,
}

/** The lease's part of the answer; the caller adds the object's ETag and Last-Modified. */
export function leaseAnswer(result: LeaseResult): { status: number; headers: string[] } {
  const headers: string[] = []
  if (result.leaseId !== undefined) headers.push('x-ms-lease-id', result.leaseId)
  if (result.leaseTimeSeconds !== undefined) {
    headers.push('x-ms-lease-time', String(result.leaseTimeSeconds))
  }
  return { status: STATUS[result.action], headers }
}

export function leaseHeaders(lease: Lease | undefined, nowMs: number): string[] {
  const { status, state, duration } = leaseStatus(lease, nowMs)
  const headers = ['x-ms-lease-status', status, 'x-ms-lease-state', state]
  if (duration !== undefined) headers.push('x-ms-lease-duration', duration)
  return headers
}
