// Values derived from a cached record (its header lines, its XML in a list, its JSON as an entity), kept for as
// long as the cache keeps the record. Nothing is kept for records that are not cached.
const DERIVED = Symbol('derived')

/** Not enumerable: copies of the owner, and its JSON, don't have it. */
type Owner = { readonly [DERIVED]?: DerivedValues }

type DerivedValues = { values: Map<string, unknown> | undefined }

/** Lets values be attached to objects that belong to one record: the cache calls it for each record it keeps. */
export function allowDerived(...owners: readonly object[]): void {
  const value: DerivedValues = { values: undefined }
  for (const owner of owners) {
    if (!(DERIVED in owner)) Object.defineProperty(owner, DERIVED, { value })
  }
}

/**
 * What `make` returns, made once while `owner` is cached. `key` names everything that the result depends on
 * besides `owner`. Callers must not change the result; other values may be derived from it.
 */
export function derived<T>(owner: object, key: string, make: () => T): T {
  const known = (owner as Owner)[DERIVED]
  if (known === undefined) return make()
  const found = known.values?.get(key)
  if (found !== undefined) return found as T
  const made = make()
  // One record has few derived values; whoever varies the key without end gets no memory for it.
  if (known.values === undefined || known.values.size >= DERIVED_COUNT_MAX) known.values = new Map()
  known.values.set(key, made)
  if (typeof made === 'object' && made !== null) allowDerived(made)
  return made
}

const DERIVED_COUNT_MAX = 8
