// Keys of volatile records: what ends with the process anyway, such as the files that SMB clients hold open. The
// runner keeps them in memory and never writes them to an engine; a transaction may touch both kinds.
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
