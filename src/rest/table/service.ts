// What the Table service's operations work with, and which part of a table the caller may touch.
import type { Identity, TableKeyRange } from '../../auth/identity.ts'
import type { AuthWorld } from '../../auth/world.ts'
import type { Call } from '../../http/operation.ts'
import type { AccountService } from '../service.ts'

export type TableService = AccountService & {
  newId(): number
  /** For the parts of a batch, which are authorized one by one. */
  world(): AuthWorld
}

export type TableCall = Call<TableService>

/** The entities that a SAS is for; undefined for who may touch all of them. */
export function keyRangeOf(identity: Identity): TableKeyRange | undefined {
  const isResourceSas = identity.kind === 'serviceSas' || identity.kind === 'userDelegationSas'
  return isResourceSas ? identity.keyRange : undefined
}

/** The table that a SAS is for, in lower case. */
export function sasTableOf(identity: Identity): string | undefined {
  const isResourceSas = identity.kind === 'serviceSas' || identity.kind === 'userDelegationSas'
  return isResourceSas ? identity.table : undefined
}
