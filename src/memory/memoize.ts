// Bounded memoization, for results that are needed again and again: a client sends the same SAS with every request,
// and almost every request reads the same few records.

export type MemoizeLimits = { readonly countMax: number; readonly lengthMax: number }

const LIMITS: MemoizeLimits = { countMax: 1_000, lengthMax: 1_024 }

/** Caches the results of `compute`, which must depend on its text alone. Longer texts are not cached. */
export function memoize<T>(
  compute: (text: string) => T,
  { countMax, lengthMax }: MemoizeLimits = LIMITS,
): (text: string) => T {
  // Wrapped, since undefined is a result too.
  const results = new Map<string, { readonly value: T }>()
  return (text) => {
    const cached = results.get(text)
    if (cached !== undefined) return cached.value
    if (text.length > lengthMax) return compute(text)
    const key = detached(text)
    const value = compute(key)
    setBounded(results, key, { value }, countMax)
    return value
  }
}

/** A copy of a substring: V8's sliced strings keep the whole string that they are part of in memory. */
export function detached(text: string): string {
  return ` ${text}`.slice(1)
}

/** Sets an entry and evicts the oldest one if there are too many. */
export function setBounded<V>(map: Map<string, V>, key: string, value: V, countMax: number): void {
  map.set(key, value)
  if (map.size <= countMax) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
