// Decides which of the reads and commits that are under way goes on next: one in each turn of the event loop, chosen by a seed. So
// every order of what several nodes do can happen, and a seed makes the same one happen again.
import type { Engine } from '../../src/kv/engine/engine.ts'
import { randomFrom, type Random } from '../random.ts'

export class Scheduler {
  readonly #waiting: (() => void)[] = []
  #random: Random = randomFrom(0)
  #isRunning = false

  /** Nothing must be under way. */
  seed(seed: number): void {
    this.#random = randomFrom(seed)
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (!this.#isRunning) setImmediate(() => this.#next())
      this.#isRunning = true
    })
  }

  #next(): void {
    const [chosen] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1)
    chosen?.()
    this.#isRunning = this.#waiting.length > 0
    if (this.#isRunning) setImmediate(() => this.#next())
  }
}

/** Every read and every commit waits for its turn, a commit also before its outcome is known. */
export function scheduled(engine: Engine, scheduler: Scheduler): Engine {
  const waited = async <T>(work: () => T | Promise<T>): Promise<T> => {
    await scheduler.wait()
    return work()
  }
  return {
    read: (wanted) => waited(() => engine.read(wanted)),
    snapshot: async () => {
      const snapshot = await engine.snapshot()
      return {
        read: (wanted) => waited(() => snapshot.read(wanted)),
        release: () => snapshot.release(),
      }
    },
    commit: async (transactions, retry) => {
      const verdicts = await waited(() => engine.commit(transactions, retry))
      await scheduler.wait()
      return verdicts
    },
    alone: (work) => engine.alone(work),
    sizeBytes: () => engine.sizeBytes(),
    close: () => engine.close(),
  }
}
