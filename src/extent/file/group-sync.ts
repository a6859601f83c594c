// Group sync: writers that arrive during a sync share the next one. The running one does not cover them, since it may
// have begun before their bytes were written.

/** A failure is final: the kernel may drop the dirty pages and report the next sync as a success. */
export function groupSync(sync: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  let failure: Promise<void> | undefined

  function start(): Promise<void> {
    if (failure !== undefined) return failure
    const run = sync().then(
      () => {
        running = undefined
      },
      (error: unknown) => {
        failure = run
        throw error
      },
    )
    running = run
    return run
  }

  return () => {
    if (failure !== undefined) return failure
    if (running === undefined) return start()
    next ??= running.then(() => {
      next = undefined
      // A sync that has begun meanwhile covers these writers too.
      return running ?? start()
    })
    return next
  }
}
