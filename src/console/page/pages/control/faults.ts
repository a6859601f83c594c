// Faults: what they do to which requests, and how often they have.
import type { FaultEffect, FaultState } from '../../../../control/api.ts'
import { post, remove, segment } from '../../api/call.ts'
import { html, useState, type VNode } from '../../library.ts'
import { useAnswer } from '../../live/query.ts'
import { ActionButton } from '../../ui/button.ts'
import { Field } from '../../ui/field.ts'
import { bytes, duration } from '../../ui/format.ts'
import { Empty, shown } from '../../ui/states.ts'
import { MatchFields, matchOf, matchText, NO_MATCH } from './match.ts'

const ASK_MS = 1_000

export function Faults(): VNode {
  const { answer, refresh } = useAnswer<{ readonly faults: readonly FaultState[] }>('faults', { everyMs: ASK_MS })
  return html`<section class="card" aria-labelledby="faults">
    <h2 id="faults">Faults</h2>
    <p class="muted">A fault makes requests fail the way a network, a busy service or a broken disk does.</p>
    ${shown(answer.value, ({ faults }) =>
      faults.length === 0
        ? html`<${Empty} title="No faults">Everything works.<//>`
        : html`<ul class="plain rules">
            ${faults.map(({ id, match, effect, probability, nth, times, matchedCount, struckCount, seed }) => html`<li key=${id} class="between">
              <span><strong>${effectText(effect)}</strong> for ${matchText(match)}${limitText({ probability, nth, times })}
                <span class="muted"> struck ${struckCount} of ${matchedCount}, seed ${seed}</span></span>
              <${ActionButton} icon="trash" kind="quiet" label="Remove the fault" run=${() => remove(`faults/${segment(id)}`).then(refresh)} />
            </li>`)}
          </ul>`,
    )}
    <${NewFault} refresh=${refresh} />
  </section>`
} // prettier-ignore

type Limits = Pick<FaultState, 'probability' | 'nth' | 'times'>

function limitText({
  probability,
  nth,
  times,
}: { readonly [K in keyof Limits]: Limits[K] | undefined }): string {
  const parts = [
    ...(probability === undefined ? [] : [`${probability * 100} % of them`]),
    ...(nth === undefined ? [] : [`only the ${nth}. one`]),
    ...(times === undefined ? [] : [`at most ${times}×`]),
  ]
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`
}

function effectText(effect: FaultEffect): string {
  if ('status' in effect)
    return `${effect.status}${effect.code === undefined ? '' : ` ${effect.code}`}`
  if ('delay' in effect) return `delay of ${delayText(effect.delay)}`
  if ('reset' in effect)
    return effect.reset === 'before' ? 'connection ends before' : 'answer lost after the write'
  if ('truncate' in effect) return `answer cut after ${bytes(effect.truncate)}`
  if ('bytesPerSecond' in effect) return `${bytes(effect.bytesPerSecond)} a second`
  return 'requestsPerSecond' in effect
    ? `${effect.requestsPerSecond} requests a second`
    : `disk: ${effect.disk}`
}

function delayText(delay: Extract<FaultEffect, { readonly delay: unknown }>['delay']): string {
  if (typeof delay === 'object') return `${delayText(delay.from)} to ${delayText(delay.to)}`
  return typeof delay === 'number' ? duration(delay) : delay
}

type Kind = {
  readonly title: string
  readonly label: string
  readonly value: string
  /** Left out: a number. */
  readonly choices?: readonly string[]
  effect(value: string): object
}

const number = (name: string) => (value: string) => ({ [name]: Number(value) })

const KINDS: Readonly<Record<string, Kind>> = {
  status: { title: 'Error', label: 'Status', value: '503', choices: ['503', '500', '429', '408'], effect: number('status') },
  delay: { title: 'Delay', label: 'Milliseconds', value: '500', effect: number('delay') },
  reset: { title: 'End of the connection', label: 'When', value: 'after', choices: ['before', 'after'], effect: (reset) => ({ reset }) },
  truncate: { title: 'Cut answer', label: 'After bytes', value: '100', effect: number('truncate') },
  bytesPerSecond: { title: 'Slow network', label: 'Bytes a second', value: '10000', effect: number('bytesPerSecond') },
  requestsPerSecond: { title: 'Busy service', label: 'Requests a second', value: '5', effect: number('requestsPerSecond') },
  disk: { title: 'Broken disk', label: 'How', value: 'full', choices: ['full', 'sync failure'], effect: (disk) => ({ disk }) },
} // prettier-ignore

function NewFault({ refresh }: { readonly refresh: () => Promise<void> }): VNode {
  const [name, setName] = useState('status')
  const kind = KINDS[name]
  const [value, setValue] = useState(kind?.value ?? '')
  const [match, setMatch] = useState(NO_MATCH)
  const [percent, setPercent] = useState('')
  const [times, setTimes] = useState('')
  const choose = (chosen: string): void => {
    setName(chosen)
    setValue(KINDS[chosen]?.value ?? '')
  }
  const add = async (): Promise<void> => {
    const given = matchOf(match)
    await post('faults', {
      effect: kind?.effect(value), ...(given !== undefined && { match: given }),
      ...(percent !== '' && { probability: Number(percent) / 100 }), ...(times !== '' && { times: Number(times) }),
    }) // prettier-ignore
    await refresh()
  }
  return html`<details class="add">
    <summary>New fault</summary>
    <div class="form">
      <${MatchFields} texts=${match} onChange=${setMatch} />
      <div class="form-row">
        <${Field}
          label="Fault"
          value=${name}
          onChange=${choose}
          choices=${Object.entries(KINDS).map(([each, { title }]) => ({ value: each, title }))}
        />
        <${Field}
          label=${kind?.label ?? ''}
          value=${value}
          onChange=${setValue}
          choices=${kind?.choices}
          type=${kind?.choices === undefined ? 'number' : undefined}
        />
        <${Field}
          label="Percent of them"
          type="number"
          value=${percent}
          onChange=${setPercent}
          placeholder="100"
        />
        <${Field}
          label="At most times"
          type="number"
          value=${times}
          onChange=${setTimes}
          placeholder="any"
        />
        <div>
          <${ActionButton} kind="primary" icon="plus" done="The fault is set" run=${add}>Set<//>
        </div>
      </div>
    </div>
  </details>`
}
