// Remembers in little memory which keys were seen before, approximately: caches use it to admit only what is read
// twice. A key is forgotten when another one takes its slot, and two keys with one hash count as the same.

/** Far more than the keys in use: two keys in one slot keep replacing each other. */
const SLOT_COUNT = 1 << 16

export class SeenFilter {
  readonly #hashes: Int32Array

  /** `slotCount` is a power of two. */
  constructor(slotCount: number = SLOT_COUNT) {
    this.#hashes = new Int32Array(slotCount)
  }

  /** Marks a key as seen; returns whether it already was. */
  mark(hash: number): boolean {
    const slot = hash & (this.#hashes.length - 1)
    if (this.#hashes[slot] === hash) return true
    this.#hashes[slot] = hash
    return false
  }
}

/** FNV-1a. */
export function hashBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < bytes.length; at += 1) {
    hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  }
  return hash
}

/** Integers up to 2^53; multiplied and shifted so that their high bits reach the slot too. */
export function hashNumbers(...numbers: readonly number[]): number {
  let hash = 0x811c9dc5
  for (const number of numbers) {
    for (const half of [number | 0, Math.floor(number / 2 ** 32)]) {
      hash = Math.imul(hash ^ half, 0x9e3779b1)
      hash ^= hash >>> 15
    }
  }
  return hash
}
