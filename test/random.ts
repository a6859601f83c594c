// The only source of randomness in the tests. It is seeded, so a failure can be repeated with the same seed.

export type Random = {
  /** An integer from 0 to count - 1. */
  below(count: number): number
  /** One of the items; there must be at least one. */
  pick<T>(items: readonly T[]): T
  bytes(lengthBytes: number): Buffer
}

/** mulberry32: small, fast, and the same on every machine. */
export function randomFrom(seed: number): Random {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  const pick = <T>(items: readonly T[]): T => {
    const item = items[below(items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }
  const bytes = (lengthBytes: number): Buffer =>
    Buffer.from(Array.from({ length: lengthBytes }, () => below(256)))
  return { below, pick, bytes }
}
