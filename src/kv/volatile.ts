// Keys of volatile records: state that ends with the process anyway, such as the files that SMB clients have open. The
// runner keeps it in memory and never writes it to an engine. A transaction may touch both kinds of records.
import { encodeKey } from './key.ts'
import type { Key } from './kv.ts'

const VOLATILE_PREFIX = encodeKey('live')

export function volatileKey(...parts: readonly (string | number)[]): Key {
  return encodeKey('live', ...parts)
}

export function isVolatile(key: Key): boolean {
  for (let at = VOLATILE_PREFIX.length - 1; at >= 0; at -= 1) {
    if (key[at] !== VOLATILE_PREFIX[at]) return false
  }
  return true
}
