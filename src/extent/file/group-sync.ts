// Many writers, few syncs: whoever asks while a sync runs waits for the next one, which covers all who
// asked meanwhile. The running one is of no use to them, for it may have begun before their bytes.

/** After a failed sync the kernel may drop the dirty pages and call the next sync a success. */
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
      // One that began when the last had ended began after these writers asked.
      return running ?? start()
    })
    return next
  }
}
