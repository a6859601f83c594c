// Leases as Azurite stores them: with the state that they had when they were last used.
import type { Lease } from '../../storage/shared/lease.ts'
import { INFINITE_DURATION_SECONDS } from '../../storage/shared/lease.ts'
import type { LeaseDocument } from './document.ts'

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** undefined if there is none; 'invalid' if its id is not one that clients of Azure can have. */
export function leaseOf(document: LeaseDocument): Lease | 'invalid' | undefined {
  const { id, state, durationSeconds = INFINITE_DURATION_SECONDS, endsAtMs, breaksAtMs } = document
  if (id === undefined || state === 'available') return undefined
  if (!GUID.test(id)) return 'invalid'
  if (state === 'breaking' || state === 'broken') {
    // A lease that is broken at once has no time.
    return { id, durationSeconds, endsAtMs: breaksAtMs ?? 0, isBroken: true }
  }
  return { id, durationSeconds, ...(endsAtMs !== undefined && { endsAtMs }) }
}
