// The keys of saved states. The records of a state have their original keys behind a prefix, so they are in the same order.
import { encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type KeyRange } from '../../kv/kv.ts'

/** → SavedState: a complete state, by its name */
export function savedStateKey(name: string): Key {
  return encodeKey('saved-state', name)
}

export const SAVED_STATES = prefixRange(encodeKey('saved-state'))

/** → {}: a state that is not complete yet, or was deleted; its records have to be swept */
export function discardedStateKey(stateId: number): Key {
  return encodeKey('saved-discarded', stateId)
}

export const DISCARDED_STATES = prefixRange(encodeKey('saved-discarded'))

/** → {stateId}: the store is being restored to this state */
export const RESTORING_KEY = encodeKey('saved-restoring')

/** → the record that had this key, as saved-record.ts encodes it */
export function savedKey(stateId: number, key: Key): Key {
  return Buffer.concat([encodeKey('saved', stateId), key])
}

export function savedRange(stateId: number): KeyRange {
  return prefixRange(encodeKey('saved', stateId))
}

const SAVED_PREFIX_LENGTH = encodeKey('saved', 0).length

/** The key that a saved record had. */
export function originalKey(key: Key): Key {
  return key.subarray(SAVED_PREFIX_LENGTH)
}
