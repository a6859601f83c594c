// The page of one request: what it asked for, what state it met, and to whom it lost.
import type { JournalEntry } from '../../../../control/api.ts'
import { html, type VNode } from '../../library.ts'
import { useAnswer } from '../../live/query.ts'
import { linkTo } from '../../router.ts'
import { StatusBadge } from '../../ui/badge.ts'
import { CopyButton } from '../../ui/button.ts'
import { dateAndTime, duration } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.ts'
import { shown } from '../../ui/states.ts'

export type SentRequest = {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
}

type Detail = JournalEntry & { readonly sent?: SentRequest }

export function RequestPage({ id }: { readonly id: number }): VNode {
  const { answer } = useAnswer<Detail>(`journal/${id}`)
  return html`<div class="page-head">
      <h1>
        <a class="back" href="#/journal" aria-label="Back to the journal"><${Icon} name="back" /></a
        >Request ${id}
      </h1>
    </div>
    ${shown(answer.value, (entry) => html`<${Request} entry=${entry} />`)}`
}

function Request({ entry }: { readonly entry: Detail }): VNode {
  return html`
    <${Verdict} entry=${entry} />
    <div class="facts">
      <section class="card" aria-label="The request">
        <h2>${entry.operation}</h2>
        ${rows({
          Resource: html`<a href=${linkTo('timeline', { resource: entry.resource })}
            >${entry.resource}</a
          >`,
          Client: html`<a href=${linkTo('journal', { client: entry.client.name })}
            >${entry.client.name}</a
          >`,
          Address: entry.client.address,
          'User agent': entry.client.userAgent,
          'Logged in by': entry.client.identity,
          Began: html`<time datetime=${entry.time}
            >${dateAndTime(entry.time)}${entry.time.slice(19, 23)}</time
          >`,
          Took: duration(entry.durationMs),
          'Request id': entry.requestId,
          'Client request id': entry.client.requestId,
        })}
      </section>
      <section class="card" aria-label="The state">
        <h2>State</h2>
        ${rows({
          'ETag before': etag(entry.etagBefore),
          'ETag after': etag(entry.etagAfter),
          'Lease before': entry.leaseBefore,
          'Lease after': entry.leaseAfter,
        })}
        <h3>Conditions</h3>
        ${entry.conditions === undefined ? html`<p class="muted">None: the request would have been accepted in any state.</p>` : rows(Object.fromEntries(Object.entries(entry.conditions).map(([name, value]) => [name, html`<code>${value}</code>`])))}
        ${entry.objects && html`<${Objects} objects=${entry.objects} />`}
      </section>
    </div>
    ${entry.sent && html`<${Sent} sent=${entry.sent} />`}
  `
}

function rows(values: Readonly<Record<string, unknown>>): VNode {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  if (given.length === 0)
    return html`<p class="muted">This request is about nothing that has a version.</p>`
  return html`<dl class="rows">
    ${given.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`
}

function etag(text: string | undefined): VNode | undefined {
  return text === undefined ? undefined : html`<code>${text}</code>`
}

function Verdict({ entry }: { readonly entry: Detail }): VNode {
  const { errorCode, refusedBy, lostTo, winner, isConflict, status } = entry
  const tone = isConflict ? 'bad' : errorCode === undefined ? 'good' : 'warn'
  return html`<section class=${`card verdict ${tone}`} aria-label="The outcome">
    <${StatusBadge} outcome=${entry} />
    <p>
      ${errorCode === undefined ? (status === 0 ? 'The client got no answer.' : 'Done.') : html`<strong>${errorCode}</strong>`}
      ${refusedBy !== undefined && html`, refused by <strong>${refusedBy}</strong>`}
      ${lostTo !== undefined && html`. It lost to <a href=${linkTo(`journal/${lostTo}`)}>request ${lostTo}</a>`}
      ${winner !== undefined && html` of <strong>${winner.client}</strong>: ${winner.operation}, ${duration(winner.beforeMs)} before`}
    </p>
    <a href=${linkTo('timeline', { resource: entry.resource, entry: String(entry.id) })}
      >Show in the timeline</a
    >
  </section>`
}

function Objects({ objects }: { readonly objects: NonNullable<JournalEntry['objects']> }): VNode {
  return html`<h3>Objects</h3>
    <ul class="plain objects">
      ${objects.map(
        ({ kind, name, isWritten, etagBefore, etagAfter }) =>
          html`<li>
            <strong>${name}</strong>
            <span class="muted">${kind}, ${isWritten ? 'written' : 'read'}</span>
            <div class="muted">
              ${etagBefore ?? 'not there'}${isWritten && html` → ${etagAfter ?? 'deleted'}`}
            </div>
          </li>`,
      )}
    </ul>`
}

function Sent({ sent }: { readonly sent: SentRequest }): VNode {
  const { method, target, headers } = sent
  const text = [
    `${method} ${target} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return html`<section class="card" aria-label="As it was sent">
    <header class="between">
      <h2>As it was sent</h2>
      <${CopyButton} text=${text.join('\n')} label="Copy the request" />
    </header>
    <pre class="sent" tabindex="0">${text.join('\n')}</pre>
    <p class="muted">Signatures, tokens and encryption keys are removed.</p>
  </section>`
}
