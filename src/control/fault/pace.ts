// Lets so many bytes pass in a second, of all bodies that share it.
import { DURATION_MS_MAX } from '../rule/duration.ts'
import type { Harm } from '../point.ts'
import type { After } from '../rule/timer.ts'

/** A slow body arrives in parts, as from a slow network, instead of all at once at the end. */
const SLICES_PER_SECOND = 10
const SLICE_BYTES_MAX = 64 * 1024

export type PaceSettings = {
  readonly bytesPerSecond: number
  /** The machine's clock. */
  readonly nowMs: () => number
  readonly after: After
}

export class Pace implements NonNullable<Harm['pace']> {
  readonly sliceBytes: number
  readonly #settings: PaceSettings
  readonly #waiting = new Set<() => void>()
  /** When the bytes so far have passed. */
  #freeAtMs = 0
  #isEnded = false

  constructor(settings: PaceSettings) {
    this.#settings = settings
    const sliceBytes = Math.floor(settings.bytesPerSecond / SLICES_PER_SECOND)
    this.sliceBytes = Math.min(Math.max(1, sliceBytes), SLICE_BYTES_MAX)
  }

  async take(bytes: number): Promise<void> {
    if (this.#isEnded || bytes === 0) return
    const { bytesPerSecond, nowMs, after } = this.#settings
    const now = nowMs()
    this.#freeAtMs = Math.max(now, this.#freeAtMs) + (bytes * 1_000) / bytesPerSecond
    const delayMs = Math.min(this.#freeAtMs - now, DURATION_MS_MAX)
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel()
        this.#waiting.delete(end)
        resolve()
      }
      const cancel = after(delayMs, end)
      this.#waiting.add(end)
    })
  }

  /** From now on, everything passes at once. */
  end(): void {
    this.#isEnded = true
    for (const end of this.#waiting) end()
  }
}
