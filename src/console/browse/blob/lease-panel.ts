// The lease of a blob or container: who has it, how long, and the means to take, give back or break it.
import type { HeldLease } from '../../../control/api.ts'
import { html, useState, type VNode } from '../../page/library.ts'
import { useAnswer } from '../../page/live/query.ts'
import { Badge } from '../../page/ui/badge.ts'
import { ActionButton, CopyButton } from '../../page/ui/button.ts'
import { Countdown } from '../../page/ui/countdown.ts'
import { Field } from '../../page/ui/field.ts'
import { FactList } from '../parts.ts'
import { ask, type Area } from '../storage.ts'

type LeaseProps = {
  readonly area: Area
  readonly path: readonly string[]
  readonly headers: Headers
  reload(): void
}

const ASK_MS = 2_000
const DURATIONS = [
  { value: '15', title: '15 seconds' },
  { value: '60', title: '60 seconds' },
  { value: '-1', title: 'Without end' },
]

export function LeasePanel({ area, path, headers, reload }: LeaseProps): VNode {
  const { answer, refresh } = useAnswer<{ readonly leases: readonly HeldLease[] }>('leases', {
    everyMs: ASK_MS,
    query: { countMax: 10_000 },
  })
  const [duration, setDuration] = useState('60')
  const resource = `/${[area.account, ...path].join('/')}`
  const kind = path.length === 1 ? 'container' : 'blob'
  const held = answer.value.value?.leases.find(
    (each) => each.resource === resource && each.kind === kind,
  )
  const lease = async (action: string, more: Readonly<Record<string, string>>): Promise<void> => {
    const query = { comp: 'lease', restype: path.length === 1 ? 'container' : undefined }
    await ask(area, {
      method: 'PUT',
      path,
      query,
      headers: { 'x-ms-lease-action': action, ...more },
    })
    reload()
    await refresh()
  }
  const state = held?.state ?? headers.get('x-ms-lease-state') ?? 'available'
  return html`
    <${FactList}
      facts=${[
        [
          'State',
          html`<${Badge} tone=${state === 'leased' || state === 'breaking' ? 'warn' : 'neutral'}
            >${state}<//
          >`,
        ],
        ['Ends in', held && html`<${Countdown} secondsLeft=${held.secondsLeft} />`],
        ['Held by', held?.client],
        [
          'Lease id',
          held &&
            html`<span class="copied"
              ><code>${held.leaseId}</code
              ><${CopyButton} text=${held.leaseId} label="Copy the lease id"
            /></span>`,
        ],
      ]}
    />
    <div class="actions">
      ${
        held === undefined
          ? html`<${Field}
                label="For"
                hasHiddenLabel=${true}
                value=${duration}
                choices=${DURATIONS}
                onChange=${setDuration}
              />
              <${ActionButton}
                icon="held"
                done="Acquired"
                run=${() => lease('acquire', { 'x-ms-lease-duration': duration })}
                >Acquire<//
              >`
          : html`<${ActionButton}
                done="Released"
                run=${() => lease('release', { 'x-ms-lease-id': held.leaseId })}
                >Release<//
              >
              <${ActionButton}
                kind="danger"
                done="Broken"
                run=${() => lease('break', { 'x-ms-lease-break-period': '0' })}
                >Break<//
              >`
      }
    </div>
  `
}
