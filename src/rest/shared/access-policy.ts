// Finds a stored access policy by its id, for authentication. All services use it.
import type { StoredPolicy } from '../../auth/world.ts'
import { policyTimeMs, type SignedIdentifier } from '../../storage/shared/access-policy.ts'

export function storedPolicy(
  policies: readonly SignedIdentifier[],
  id: string,
): StoredPolicy | undefined {
  const found = policies.find((identifier) => identifier.id === id)
  if (found === undefined) return undefined
  const { start, expiry, permission } = found.policy
  return {
    startMs: start === undefined ? undefined : policyTimeMs(start),
    expiryMs: expiry === undefined ? undefined : policyTimeMs(expiry),
    permissions: permission,
  }
}
