// Results that are asked for again and again, kept within bounds: a client sends the same SAS with every
// request, and almost every request reads the same few records.

export type RememberLimits = { readonly countMax: number; readonly lengthMax: number }

const LIMITS: RememberLimits = { countMax: 1_000, lengthMax: 1_024 }

/** `make`, which must depend on nothing but its text, called once for each text while it is remembered. */
export function remembering<T>(
  make: (text: string) => T,
  { countMax, lengthMax }: RememberLimits = LIMITS,
): (text: string) => T {
  const remembered = new Map<string, { readonly made: T }>()
  return (text) => {
    const known = remembered.get(text)
    if (known !== undefined) return known.made
    if (text.length > lengthMax) return make(text)
    const own = detached(text)
    const made = make(own)
    setBounded(remembered, own, { made }, countMax)
    return made
  }
}

/** A part of a longer text holds all of it in memory (V8's sliced strings); a copy does not. */
export function detached(text: string): string {
  return ` ${text}`.slice(1)
}

/** Sets an entry and drops the oldest one when there are too many. */
export function setBounded<V>(map: Map<string, V>, key: string, value: V, countMax: number): void {
  map.set(key, value)
  if (map.size <= countMax) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
