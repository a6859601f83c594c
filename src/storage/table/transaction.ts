// Entity group transactions: up to 100 writes to one partition of a table, all or nothing. A transaction body
// that throws writes nothing, so all that is left to do here is to report which write failed.
import { giveWay } from '../../kv/step.ts'
import type { Step, Tx } from '../../kv/kv.ts'
import { StorageError, type ErrorCode } from '../shared/error.ts'
import type { Moment } from '../../node/moment.ts'
import { applyWrite, checkEntityWrite, type Entity, type EntityWrite } from './entity.ts'
import { requireTable, type TableAddress } from './table.ts'

const WRITE_COUNT_MAX = 100

/** Errors whose messages have no index if there is only one write (seen in recorded traffic). */
const UNNUMBERED: ReadonlySet<ErrorCode> = new Set([
  'ResourceNotFound',
  'UpdateConditionNotSatisfied',
])

/** The error of the write at an index, counted from 0. Clients parse the index from the message. */
export class TransactionError extends StorageError {
  readonly failedAt: number

  constructor(failedAt: number, { code, details, message, status }: StorageError) {
    super(code, details, `${failedAt}:${message}`, status)
    this.name = 'TransactionError'
    this.failedAt = failedAt
  }
}

/** Returns the results of writeEntity. Throws TransactionErrors, except for UNNUMBERED errors. */
export function* writeEntities(
  tx: Tx,
  address: TableAddress,
  writes: readonly EntityWrite[],
  moment: Moment,
): Step<readonly (Entity | undefined)[]> {
  checkTransaction(writes)
  let at = 0
  try {
    const { id } = yield* requireTable(tx, address)
    const written: (Entity | undefined)[] = []
    for (const write of writes) {
      written.push(yield* applyWrite(tx, id, write, moment))
      at += 1
      yield* giveWay()
    }
    return written
  } catch (error) {
    const isSingle = writes.length === 1 && error instanceof StorageError
    throw isSingle && UNNUMBERED.has(error.code) ? error : failure(at, error)
  }
}

function checkTransaction(writes: readonly EntityWrite[]): void {
  if (writes.length > WRITE_COUNT_MAX) {
    const message = 'The batch request operation exceeds the maximum 100 changes per change set.'
    throw new TransactionError(WRITE_COUNT_MAX - 1, new StorageError('InvalidInput', {}, message))
  }
  const rowKeys = new Set<string>()
  for (const [at, write] of writes.entries()) {
    try {
      if (write.partitionKey !== writes[0]?.partitionKey) {
        throw new StorageError('CommandsInBatchActOnDifferentPartitions')
      }
      if (rowKeys.has(write.rowKey)) throw new StorageError('InvalidDuplicateRow')
      rowKeys.add(write.rowKey)
      checkEntityWrite(write)
    } catch (error) {
      throw failure(at, error)
    }
  }
}

function failure(at: number, error: unknown): unknown {
  return error instanceof StorageError ? new TransactionError(at, error) : error
}
