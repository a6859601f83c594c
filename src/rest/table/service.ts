// The dependencies of the Table service's operations, and the part of a table that the caller may access.
import type { Identity, TableKeyRange } from '../../auth/identity.ts'
import type { AuthWorld } from '../../auth/world.ts'
import type { Call, Request } from '../../http/door/operation.ts'
import type { ReusedName } from '../../storage/shared/held-name.ts'
import type { TableAddress } from '../../storage/table/table.ts'
import { reusedName } from '../shared/held-name.ts'
import type { AccountService, ReportRefusal } from '../shared/service.ts'
import { isTables, namedTable, tableAddress } from './address.ts'

export type TableService = AccountService & {
  newId(): number
  /** Authorizes the parts of a batch, one by one. */
  world(): AuthWorld
  /** For the parts of a batch. */
  readonly reportRefusal?: ReportRefusal
}

export type TableCall = Call<TableService>

export function reusedTable(service: TableService, { account, table }: TableAddress): ReusedName {
  return reusedName(service, 'table', account, table)
}

/** The table that a request addresses. */
export function requestedTable(service: TableService, request: Request): ReusedName {
  return reusedTable(service, isTables(request) ? namedTable(request) : tableAddress(request))
}

/** The entities that a SAS grants access to; undefined: all of them. */
export function keyRangeOf(identity: Identity): TableKeyRange | undefined {
  const isResourceSas = identity.kind === 'serviceSas' || identity.kind === 'userDelegationSas'
  return isResourceSas ? identity.keyRange : undefined
}

/** The table that a SAS grants access to, in lower case. */
export function sasTableOf(identity: Identity): string | undefined {
  const isResourceSas = identity.kind === 'serviceSas' || identity.kind === 'userDelegationSas'
  return isResourceSas ? identity.table : undefined
}
