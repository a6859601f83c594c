// Barriers: what they hold, who waits, and the order in which those who wait go on.
import type { BarrierState, HeldRequest } from '../../../../control/api.ts'
import { post, remove, segment } from '../../api/call.ts'
import { html, useState, type VNode } from '../../library.ts'
import { useAnswer } from '../../live/query.ts'
import { ActionButton, Button } from '../../ui/button.ts'
import { Field } from '../../ui/field.ts'
import { plural } from '../../ui/format.ts'
import { Empty, shown } from '../../ui/states.ts'
import { MatchFields, matchOf, matchText, NO_MATCH } from './match.ts'

const ASK_MS = 1_000

export function Barriers(): VNode {
  const { answer, refresh } = useAnswer<{ readonly barriers: readonly BarrierState[] }>(
    'barriers',
    { everyMs: ASK_MS },
  )
  return html`<section class="card" aria-labelledby="barriers">
    <h2 id="barriers">Barriers</h2>
    <p class="muted">
      A barrier holds requests at a point of their way, so that you decide who wins a race.
    </p>
    <div aria-live="polite">
      ${shown(answer.value, ({ barriers }) =>
        barriers.length === 0
          ? html`<${Empty} icon="pause" title="No barriers">Requests go on as they come.<//>`
          : html`<ul class="plain rules">
              ${barriers.map((barrier) => html`<${BarrierRow} key=${barrier.id} barrier=${barrier} refresh=${refresh} />`)}
            </ul>`,
      )}
    </div>
    <${NewBarrier} refresh=${refresh} />
  </section>`
}

type RowProps = { readonly barrier: BarrierState; readonly refresh: () => Promise<void> }

function BarrierRow({ barrier, refresh }: RowProps): VNode {
  const { id, at, match, count, held, releasedCount } = barrier
  const [moved, setMoved] = useState<readonly string[]>([])
  const order = inOrder(held, moved)
  const release = async (clients: readonly string[]): Promise<void> => {
    await post(`barriers/${segment(id)}/release`, clients.length === 0 ? {} : { clients })
    await refresh()
  }
  const up = (client: string): void => {
    const names = order.map((request) => request.client)
    const from = names.indexOf(client)
    names.splice(from, 1)
    names.splice(from - 1, 0, client)
    setMoved(names)
  }
  const names = [...new Set(order.map(({ client }) => client))]
  return html`<li>
    <div class="between">
      <span>At <strong>${at}</strong>: ${matchText(match)}${count !== undefined && html`, at most ${count}`}
        <span class="muted"> ${plural(releasedCount, 'request')} let go</span></span>
      <${ActionButton} icon="trash" kind="quiet" label="Remove the barrier" run=${() => remove(`barriers/${segment(id)}`).then(refresh)} />
    </div>
    ${held.length === 0 ? html`<p class="muted">Nobody waits.</p>` : html`
      <ol class="waiting">
        ${order.map(({ client, operation, path }, at) => html`<li>
          <span><strong>${client}</strong> ${operation} <span class="muted">${path}</span></span>
          <span class="actions">
            ${at > 0 && html`<${Button} icon="up" kind="quiet" label=${`Let ${client} go earlier`} onClick=${() => up(client)} />`}
            <${ActionButton} run=${() => release([client])} label=${`Release ${client}`}>Release<//>
          </span>
        </li>`)}
      </ol>
      <${ActionButton} kind="primary" icon="play" run=${() => release(names)}>Release all in this order<//> `}
  </li>`
} // prettier-ignore

/** As they came, unless somebody has moved them. */
function inOrder(held: readonly HeldRequest[], moved: readonly string[]): readonly HeldRequest[] {
  const rank = ({ client }: HeldRequest): number => {
    const at = moved.indexOf(client)
    return at < 0 ? moved.length : at
  }
  return held.toSorted((a, b) => rank(a) - rank(b))
}

const POINTS = ['received', 'authorized', 'read', 'checked', 'committed', 'answered']

function NewBarrier({ refresh }: { readonly refresh: () => Promise<void> }): VNode {
  const [at, setAt] = useState('checked')
  const [match, setMatch] = useState(NO_MATCH)
  const [count, setCount] = useState('')
  const [seconds, setSeconds] = useState('60')
  const add = async (): Promise<void> => {
    const given = matchOf(match)
    await post('barriers', {
      at, ...(given !== undefined && { match: given }), ...(count !== '' && { count: Number(count) }),
      ...(seconds !== '' && { timeLimit: Number(seconds) * 1_000 }),
    }) // prettier-ignore
    await refresh()
  }
  return html`<details class="add">
    <summary>New barrier</summary>
    <div class="form">
      <${MatchFields} texts=${match} onChange=${setMatch} />
      <div class="form-row">
        <${Field} label="Point" value=${at} onChange=${setAt} choices=${POINTS} />
        <${Field}
          label="Holds at most"
          type="number"
          value=${count}
          onChange=${setCount}
          placeholder="all"
        />
        <${Field} label="For seconds" type="number" value=${seconds} onChange=${setSeconds} />
        <div>
          <${ActionButton} kind="primary" icon="plus" done="The barrier is set" run=${add}>Set<//>
        </div>
      </div>
    </div>
  </details>`
}
