// Remembers roughly which keys were asked for before, in little memory: what is asked for only once is not worth
// a place in a cache. A key may be forgotten when another takes its slot.

// Far more than are in use at a time: of two keys in one slot, each would make the other forgotten.
const SLOTS = 1 << 16

export class SeenFilter {
  readonly #hashes = new Int32Array(SLOTS)

  /** Whether the key was asked for before; from now on it was. */
  has(key: Uint8Array): boolean {
    const hash = hashOf(key)
    const slot = hash & (SLOTS - 1)
    if (this.#hashes[slot] === hash) return true
    this.#hashes[slot] = hash
    return false
  }
}

/** FNV-1a. */
function hashOf(key: Uint8Array): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ (key[at] ?? 0), 0x01000193)
  return hash
}
