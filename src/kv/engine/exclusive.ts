// One holder at a time, in the order of asking: commits wait while somebody works alone.
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#last.then(work)
    this.#last = running.catch(() => undefined)
    return running
  }
}
