// A bound on the memory that many hold together. When it is exceeded, the one that holds the most has to go: those who
// hold little are not driven out by those who hold much.

export type MemoryBudget<Holder> = {
  /** What the holder holds now, in place of what it held before. The answer has to let go of everything. */
  set(holder: Holder, heldBytes: number): Holder | undefined
}

export function createMemoryBudget<Holder>(heldBytesMax: number): MemoryBudget<Holder> {
  const held = new Map<Holder, number>()
  let totalBytes = 0
  const set = (holder: Holder, heldBytes: number): void => {
    totalBytes += heldBytes - (held.get(holder) ?? 0)
    if (heldBytes === 0) held.delete(holder)
    else held.set(holder, heldBytes)
  }
  return {
    set(holder, heldBytes) {
      set(holder, heldBytes)
      if (totalBytes <= heldBytesMax) return undefined
      const [largest] = [...held].reduce((most, each) => (each[1] > most[1] ? each : most))
      set(largest, 0)
      return largest
    },
  }
}
