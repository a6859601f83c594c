// Queues and tables that are being deleted: every operation on them gets 409 ("Delete Queue", "Delete Table"). A
// deleted container or share gets 404, and only its name stays taken.
import type { Call, Operation, OperationTable, Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import {
  beingDeleted,
  isHeld,
  type HeldKind,
  type ReusedName,
} from '../../storage/shared/held-name.ts'
import type { AccountService } from './service.ts'

export function reusedName(
  { nameReuseMs }: AccountService,
  kind: HeldKind,
  account: string,
  name: string,
): ReusedName {
  return { kind, account, name, reuseMs: nameReuseMs }
}

type NameOf<S> = (service: S, request: Request) => ReusedName

/** The same operations, but they answer …BeingDeleted instead of …NotFound while a deleted name is held. */
export function refusingHeld<S extends AccountService>(
  table: OperationTable<S>,
  nameOf: NameOf<S>,
): OperationTable<S> {
  const guarded = new Map(table.operations.map((row) => [row, guardedRow(row, nameOf)]))
  return {
    operations: table.operations,
    find: (request) => {
      const row = table.find(request)
      return guarded.get(row) ?? row
    },
  }
}

function guardedRow<S extends AccountService>(row: Operation<S>, nameOf: NameOf<S>): Operation<S> {
  if (row.level === 'service') return row
  return {
    ...row,
    run: async (call) => {
      try {
        return await row.run(call)
      } catch (error) {
        throw await heldError(call, nameOf, error)
      }
    },
  }
}

/** The given error, or …BeingDeleted if the name is held. Only a 404 needs a look at the store. */
export async function heldError<S extends AccountService>(
  { service, request }: Call<S>,
  nameOf: NameOf<S>,
  error: unknown,
): Promise<unknown> {
  if (service.nameReuseMs === 0 || !(error instanceof StorageError) || error.status !== 404) {
    return error
  }
  const [name, { nowMs }] = [nameOf(service, request), service.moment()]
  return (await service.kv.read((tx) => isHeld(tx, name, nowMs))) ? beingDeleted(name) : error
}
