// An operation table that answers every request with ServerBusy, while no node serves a service.
import type { OperationTable } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'

export const BUSY_TABLE: OperationTable<undefined> = {
  operations: [],
  find: () => {
    throw serverBusy()
  },
}

/** Another node takes over within seconds. */
export function serverBusy(): StorageError {
  return new StorageError('ServerBusy', { 'Retry-After': '1' })
}
