// Seeded chance: the same seed gives the same numbers on every machine.

/** Numbers from 0 to below 1 (mulberry32). */
export function chanceFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / SEED_END
  }
}

/** Seeds are whole numbers below this. */
export const SEED_END = 2 ** 32
