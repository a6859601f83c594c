// Rates and latencies over the last minutes, from the counters of the server, which are asked for every second.
import type { Traffic } from '../../../control/overview.ts'
import { get } from '../api/call.ts'
import { isTokenNeeded } from '../api/token.ts'
import { signal } from '../library.ts'
import { connection } from './connection.ts'
import { rateBetween, type Rate } from './rate.ts'

const ASK_MS = 1_000
const KEPT_MAX = 300

/** Oldest first. */
export const rates = signal<readonly Rate[]>([])

let last: Traffic | undefined

export function followTraffic(): void {
  setInterval(() => void ask(), ASK_MS)
}

async function ask(): Promise<void> {
  if (connection.peek() !== 'live' || isTokenNeeded.peek()) return
  try {
    const traffic = await get<Traffic>('traffic')
    const rate = last && rateBetween(last, traffic)
    last = traffic
    if (rate !== undefined) rates.value = [...rates.value, rate].slice(-KEPT_MAX)
  } catch {
    last = undefined
  }
}
