// The server's clock, as of the last answer: it may be held or far from the clock of this machine.
import type { ClockState } from '../../../control/api.ts'
import { get } from '../api/call.ts'
import { isTokenNeeded } from '../api/token.ts'
import { effect, signal } from '../library.ts'
import { connection } from './connection.ts'

export const clock = signal<ClockState | undefined>(undefined)
/** The server's time in milliseconds, which moves with it a few times a second. */
export const serverNowMs = signal<number | undefined>(undefined)

const ASK_MS = 2_000
const TICK_MS = 250

let atMs = 0

export function takeClock(state: ClockState): void {
  atMs = performance.now()
  clock.value = state
  tick()
}

export async function askClock(): Promise<void> {
  try {
    takeClock(await get<ClockState>('clock'))
  } catch {
    // The banner of the page says that the server does not answer.
  }
}

function tick(): void {
  const state = clock.peek()
  if (state === undefined) return
  const since = state.isHeld ? 0 : performance.now() - atMs
  serverNowMs.value = Date.parse(state.now) + since
}

export function followClock(): void {
  effect(() => {
    if (connection.value === 'live') void askClock()
  })
  setInterval(() => {
    if (!document.hidden && connection.peek() === 'live' && !isTokenNeeded.peek()) void askClock()
  }, ASK_MS)
  setInterval(() => !document.hidden && connection.peek() === 'live' && tick(), TICK_MS)
}
