// Values derived from a cached record (its header lines, its XML in a list, its JSON as an entity), kept for as
// long as the cache keeps the record. Nothing is kept for records that are not cached.
const DERIVED = Symbol('derived')

/** Not enumerable: copies of the owner, and its JSON, don't have it. */
type Owner = { readonly [DERIVED]?: DerivedValues }

type DerivedValues = { readonly key: string; readonly value: unknown }[]

/** Lets `derived` attach values to objects of one record. The cache calls it for records that are read repeatedly. */
export function allowDerived(...owners: readonly object[]): void {
  const value: DerivedValues = []
  for (const owner of owners) {
    if (!(DERIVED in owner)) Object.defineProperty(owner, DERIVED, { value })
  }
}

/**
 * Returns what `make` returns, and calls it only once while `owner` is cached. `key` names everything that the result
 * depends on besides `owner`. Callers must not change the result; other values may be derived from it.
 */
export function derived<T>(owner: object, key: string, make: () => T): T {
  const known = (owner as Owner)[DERIVED]
  if (known === undefined) return make()
  // A record has few derived values, so a walk is faster than a map.
  for (const one of known) if (one.key === key) return one.value as T
  const value = make()
  // Bounded, in case a caller keeps varying the key.
  if (known.length >= DERIVED_COUNT_MAX) known.length = 0
  known.push({ key, value })
  if (typeof value === 'object' && value !== null) allowDerived(value)
  return value
}

const DERIVED_COUNT_MAX = 8
