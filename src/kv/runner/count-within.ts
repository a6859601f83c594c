// Bounds for groups that are formed from a queue.

/** How many items to take from the front of a list so that their total stays within a limit; at least one. */
export function countWithin<T>(
  items: readonly T[],
  sizeOf: (item: T) => number,
  totalMax: number,
): number {
  let total = 0
  const at = items.findIndex((item) => (total += sizeOf(item)) > totalMax)
  return at < 0 ? items.length : Math.max(1, at)
}
