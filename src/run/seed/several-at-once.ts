// Runs work for many items, a few at once, so that their writes share a sync.

/** Small, because each may hold a few MiB. */
const AT_ONCE = 8

/** Fails with the first error, when everything that has begun is over. */
export async function severalAtOnce<T>(
  items: AsyncIterable<T> | Iterable<T>,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  const errors: unknown[] = []
  try {
    for await (const item of items) {
      const done: Promise<void> = run(item)
        .catch((error: unknown) => void errors.push(error))
        .finally(() => running.delete(done))
      running.add(done)
      if (running.size >= AT_ONCE) await Promise.race(running)
      if (errors.length > 0) break
    }
  } finally {
    await Promise.all(running)
  }
  if (errors.length > 0) throw errors[0]
}
