// Shares one read among all callers of a turn of the event loop. Nothing is kept for longer, so a caller never gets a state
// that is older than its own turn.

export function perTurn<T>(read: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const reads = new Map<string, Promise<T>>()
  return (key) => {
    const shared = reads.get(key)
    if (shared !== undefined) return shared
    if (reads.size === 0) setImmediate(() => reads.clear())
    const started = read(key)
    reads.set(key, started)
    return started
  }
}
