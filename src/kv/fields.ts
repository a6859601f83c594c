// Reading a record for its fields alone.
import type { Key, ReadTx, Step } from './kv.ts'
import type { StoredRecord } from './record.ts'
import { mapStep } from './step.ts'

/** The caller names the type that it wrote under this key. */
export function getFields<T>(tx: ReadTx, key: Key): Step<T | undefined> {
  return mapStep(tx.getFields(key), fieldsOf<T>)
}

function fieldsOf<T>(record: StoredRecord | undefined): T | undefined {
  return record?.fields as T | undefined
}
