// The time that something has left, by the server's clock: it stands still while that is held.
import { html, useMemo, type VNode } from '../library.ts'
import { serverNowMs } from '../live/clock.ts'
import { countdownText } from './format.ts'

type CountdownProps = {
  /** When the answer came. undefined: it never ends. */
  readonly secondsLeft: number | undefined
  /** How long it lasted at its start, for the bar; left out: no bar. */
  readonly ofSeconds?: number
}

const SOON_SECONDS = 10

export function Countdown({ secondsLeft, ofSeconds }: CountdownProps): VNode {
  const startedMs = useMemo(() => serverNowMs.peek(), [secondsLeft])
  if (secondsLeft === undefined) return html`<span class="countdown">no end</span>`
  const nowMs = serverNowMs.value
  const since = nowMs === undefined || startedMs === undefined ? 0 : nowMs - startedMs
  const left = Math.max(0, secondsLeft - since / 1_000)
  const share = ofSeconds === undefined ? undefined : Math.min(1, left / ofSeconds)
  return html`<span class=${left <= SOON_SECONDS ? 'countdown soon' : 'countdown'}>
    ${countdownText(left)}
    ${share !== undefined && html`<span class="countdown-bar" aria-hidden="true"><span style=${{ width: `${share * 100}%` }}></span></span>`}
  </span>`
}
