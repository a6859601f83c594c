// Which code of src/ an input reaches, and how often, from V8's own counters (node:inspector). Code that was compiled
// before `start` has no counters inside its functions, so decoders must be imported after it.
import { Session, type Profiler } from 'node:inspector'

/**
 * What ran since the last `take`. V8 joins a block with the one around it if both ran equally often, so what did not run in
 * a function that ran says as much as what did.
 */
export type Reached = {
  /** The blocks of code that ran. */
  readonly blocks: ReadonlySet<string>
  /** Each block that ran or did not, with how often it ran, in powers of two. */
  readonly counts: ReadonlySet<string>
  /** How often blocks ran in all: the work that an input caused, on any machine. */
  readonly workCount: number
}

export class Coverage {
  readonly #session = new Session()
  readonly #isMeasured: (url: string) => boolean

  constructor(isMeasured = (url: string) => url.includes('/src/')) {
    this.#isMeasured = isMeasured
  }

  start(): void {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  take(): Reached {
    const blocks = new Set<string>()
    const counts = new Set<string>()
    let workCount = 0
    for (const { scriptId, functions } of this.#scripts()) {
      for (const { ranges } of functions) {
        if (ranges[0]?.count === 0) continue
        for (const { startOffset, endOffset, count } of ranges) {
          if (count > 0) blocks.add(`${scriptId}:${startOffset}`)
          counts.add(
            `${scriptId}:${startOffset}-${endOffset}:${count === 0 ? 'none' : Math.floor(Math.log2(count))}`,
          )
          workCount += count
        }
      }
    }
    return { blocks, counts, workCount }
  }

  stop(): void {
    this.#session.disconnect()
  }

  /** The counters start again at zero. */
  #scripts(): readonly Profiler.ScriptCoverage[] {
    let found: readonly Profiler.ScriptCoverage[] = []
    // Without a debugger in another thread, the answer comes before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error
      found = result
    })
    return found.filter(({ url }) => this.#isMeasured(url))
  }
}
