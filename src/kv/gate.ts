// A gate before a kv, for work that needs the whole store for itself, in many transactions: while it is closed, others wait
// or are refused.
import { withAttempt, type EventKv } from './kv.ts'

export class Gate {
  #opened: Promise<void> | undefined
  #open: () => void = () => undefined
  #refusal: (() => Error) | undefined

  get isClosed(): boolean {
    return this.#opened !== undefined
  }

  /** `refusal` makes the error with which everybody is refused; without it, writes wait and reads go on. */
  close(refusal?: () => Error): void {
    this.#opened ??= new Promise((resolve) => (this.#open = resolve))
    this.#refusal = refusal
  }

  open(): void {
    this.#opened = undefined
    this.#refusal = undefined
    this.#open()
  }

  /** Throws if everybody is refused. */
  check(): void {
    if (this.#refusal !== undefined) throw this.#refusal()
  }

  /** Resolves when writes may go on. */
  async passed(): Promise<void> {
    while (this.#opened !== undefined) {
      this.check()
      await this.#opened
    }
  }
}

export function gated<Event>(kv: EventKv<Event>, gate: Gate): EventKv<Event> {
  const passing = withAttempt(kv, async (body) => {
    if (gate.isClosed) await gate.passed()
    return kv.attempt(body)
  })
  return {
    ...passing,
    read: async (body) => {
      gate.check()
      return kv.read(body)
    },
    attemptRead: async (body) => {
      gate.check()
      return kv.attemptRead(body)
    },
  }
}
