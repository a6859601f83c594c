// What a process measures of itself: memory after a collection of garbage, descriptors, and the delay of its event loop.
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export type Measured = {
  readonly rssBytes: number
  readonly heapBytes: number
  /** Outside of the heap: buffers. */
  readonly externalBytes: number
  readonly descriptorCount: number
  /** p99 since the last time. */
  readonly loopLagMs: number
}

export function startMeasuring(): () => Measured {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  return () => {
    const loopLagMs = delay.percentile(99) / 1e6
    collect()
    collect()
    const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
    // What collecting has taken is not the server's.
    delay.reset()
    const descriptorCount = readdirSync('/proc/self/fd').length
    return { rssBytes: rss, heapBytes: heapUsed, externalBytes: external + arrayBuffers, descriptorCount, loopLagMs } // prettier-ignore
  }
}
