// Timers by the machine's clock, as a parameter so that tests decide when they are due.

/** Calls `then` after the delay, unless the returned function is called first. */
export type After = (delayMs: number, then: () => void) => () => void

export function afterReal(delayMs: number, then: () => void): () => void {
  const timer = setTimeout(then, delayMs)
  return () => clearTimeout(timer)
}
