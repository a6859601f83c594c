// A lock with one holder at a time, in order of arrival: commits wait while a transaction runs alone.
export class Exclusive {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(work: () => Promise<T>): Promise<T> {
    const running = this.#last.then(work)
    this.#last = running.catch(() => undefined)
    return running
  }
}
