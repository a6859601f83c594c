// Reading a record that has to exist: a container, queue, table or share.
import type { Key, ReadTx, Step } from '../../kv/kv.ts'
import { StorageError, type ErrorCode } from './error.ts'

/** The caller names the type that it wrote under this key. */
export function* requireFields<T>(tx: ReadTx, key: Key, notFound: ErrorCode): Step<T> {
  const fields = yield* tx.getFields<T>(key)
  if (fields === undefined) throw new StorageError(notFound)
  return fields
}
