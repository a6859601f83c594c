// On whose behalf a request acts on paths of a hierarchical namespace, and what it needs there. Tokens and user delegation SAS
// are users, to whom the access control of paths applies. Everything else is a superuser.
import type { Identity } from '../../auth/identity.ts'
import type { Operation } from '../../http/door/operation.ts'
import type { PathNeed } from '../../storage/blob/path/access.ts'
import { SUPERUSER_ACTOR, type Actor, type UserActor } from '../../storage/blob/access/actor.ts'
import type { BlobService } from './service.ts'

export function actorOf(identity: Identity): Actor {
  if (identity.kind === 'bearer') {
    const { oid, groups } = identity.claims
    return userOf(oid, Array.isArray(groups) ? groups : [])
  }
  if (identity.kind === 'userDelegationSas') {
    const { agent, objectId } = identity
    if (agent === undefined) return userOf(objectId, [])
    if (!agent.isAuthorized) return userOf(agent.objectId, [])
    return { ...userOf(objectId, []), createsFor: agent.objectId }
  }
  return SUPERUSER_ACTOR
}

/** Nobody's id: no entry of an access control list can have it. */
const NOBODY = ','

function userOf(objectId: unknown, groups: readonly unknown[]): UserActor {
  return {
    kind: 'user',
    objectId: typeof objectId === 'string' && objectId !== '' ? objectId : NOBODY,
    groups: groups.filter((id): id is string => typeof id === 'string' && id !== ''),
  }
}

const NEEDS: Readonly<Record<string, PathNeed>> = {
  'Get Blob': 'read',
  'Query Blob Contents': 'read',
  'List Blobs': 'list',
  'Find Blobs by Tags in Container': 'list',
  'Delete Blob': 'delete',
}

/** The operations of the Blob service, with access control for users in accounts with a hierarchical namespace. */
export function withPathAccess(operation: Operation<BlobService>): Operation<BlobService> {
  if (operation.level === 'service') return operation
  const need = NEEDS[operation.name] ?? (operation.writes ? 'write' : 'traverse')
  return {
    ...operation,
    run(call) {
      const actor = actorOf(call.identity)
      const { request, service } = call
      const isFree = actor.kind === 'superuser'
      if (isFree || service.accounts.get(request.account)?.isHierarchical !== true) {
        return operation.run(call)
      }
      return operation.run({ ...call, request: { ...request, access: { actor, need } } })
    },
  }
}
