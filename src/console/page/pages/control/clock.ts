// The server's clock: hold it, move it, let it run.
import type { ClockState } from '../../../../control/api.ts'
import { post } from '../../api/call.ts'
import { html, useState, type VNode } from '../../library.ts'
import { clock, serverNowMs, takeClock } from '../../live/clock.ts'
import { journalFailure } from '../../live/journal.ts'
import { Badge } from '../../ui/badge.ts'
import { ActionButton } from '../../ui/button.ts'
import { Field } from '../../ui/field.ts'
import { dateAndTime, duration } from '../../ui/format.ts'
import { Failure, Loading } from '../../ui/states.ts'

const STEPS = [
  { title: '1 s', by: 1_000 },
  { title: '15 s', by: 15_000 },
  { title: '1 min', by: 60_000 },
  { title: '1 h', by: 3_600_000 },
  { title: '1 day', by: 86_400_000 },
] as const

async function send(command: object): Promise<void> {
  takeClock(await post<ClockState>('clock', command))
}

export function Clock(): VNode {
  const state = clock.value
  return html`<section class="card" aria-labelledby="clock">
    <h2 id="clock">Clock</h2>
    ${state === undefined ? html`<${journalFailure.value === undefined ? Loading : Failure}>${journalFailure.value}<//>` : html`<${Face} state=${state} />`}
  </section>`
}

function Face({ state }: { readonly state: ClockState }): VNode {
  const nowMs = serverNowMs.value ?? Date.parse(state.now)
  const { isHeld, offsetMs } = state
  return html`
    <p class="clock-face">
      ${dateAndTime(new Date(nowMs).toISOString())}
      <span class="muted">UTC</span>
      ${isHeld ? html`<${Badge} tone="warn">held<//>` : html`<${Badge} tone="good">running<//>`}
    </p>
    <p class="muted">
      ${Math.abs(offsetMs) < 1_000 ? 'As the clock of its machine.' : `${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'ahead of' : 'behind'} the clock of its machine.`}
      ${' '}Leases, visibility and expiry go by it.
    </p>
    <div class="actions">
      ${isHeld ? html`<${ActionButton} icon="play" kind="primary" run=${() => send({ run: true })}>Run<//>` : html`<${ActionButton} icon="pause" run=${() => send({ hold: true })}>Hold<//>`}
      ${STEPS.map(({ title, by }) => html`<${ActionButton} run=${() => send({ advance: by })} label=${`Advance the clock by ${title}`}>+ ${title}<//>`)}
    </div>
    <${Setter} />
  `
}

function Setter(): VNode {
  const [text, setText] = useState('')
  // The field has no zone; all times of the server are UTC.
  const set = (): Promise<void> => send({ set: new Date(`${text}Z`).toISOString() })
  return html`<div class="form-row">
    <${Field} label="Set to (UTC)" type="datetime-local" value=${text} onChange=${setText} />
    <div><${ActionButton} isDisabled=${text === ''} run=${set}>Set<//></div>
  </div>`
}
