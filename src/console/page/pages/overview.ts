// Where the server is, how to connect to it, and what it does now.
import type { AccountKeys, Overview } from '../../../control/overview.ts'
import { post, segment } from '../api/call.ts'
import { html, useState, type VNode } from '../library.ts'
import { entries, journalFailure } from '../live/journal.ts'
import { useAnswer } from '../live/query.ts'
import { rates } from '../live/traffic.ts'
import type { Rate } from '../live/rate.ts'
import { ActionButton, CopyButton } from '../ui/button.ts'
import { bytes, count, duration, lastName, plural, timeOfDay } from '../ui/format.ts'
import { Plot, type Series } from '../ui/plot.ts'
import { Empty, shown } from '../ui/states.ts'
import { StatusBadge } from '../ui/badge.ts'

const ASK_MS = 5_000

export function OverviewPage(): VNode {
  const { answer } = useAnswer<Overview>('overview', { everyMs: ASK_MS })
  return html`
    <h1>Overview</h1>
    <div class="plots"><${Plots} rates=${rates.value} /></div>
    ${shown(answer.value, (overview) => html`<${Facts} overview=${overview} />`)}
    <${RecentConflicts} />
  `
}

function Plots({ rates }: { readonly rates: readonly Rate[] }): VNode {
  const times = rates.map(({ time }) => time)
  const last = rates.at(-1)
  const panel = (
    title: string,
    now: string,
    series: readonly Series[],
    format: (value: number) => string,
  ) =>
    html`<section class="card plot-card" aria-label=${title}>
      <header>
        <h2>${title}</h2>
        <strong>${now}</strong>
      </header>
      <${Plot}
        label=${`${title} over the last minutes; now ${now}`}
        times=${times}
        series=${series}
        format=${format}
      />
    </section>`
  const of = (title: string, color: string, value: (rate: Rate) => number | undefined): Series => ({
    title, color, values: rates.map(value),
  }) // prettier-ignore
  return html`
    ${panel('Requests', `${rateText(last?.requestsPerSecond)} a second`, [of('Requests', '--accent', (rate) => rate.requestsPerSecond)], rateText)}
    ${panel(
      'Latency',
      last?.medianMs === undefined
        ? 'no requests'
        : `median ${duration(last.medianMs)}, 99 % within ${duration(last.slowestMs ?? 0)}`,
      [
        of('99 % within', '--warn', (rate) => rate.slowestMs),
        of('Median', '--good', (rate) => rate.medianMs),
      ],
      duration,
    )}
    ${panel('Conflicts', `${rateText(last?.conflictsPerSecond)} a second`, [of('Conflicts', '--bad', (rate) => rate.conflictsPerSecond)], rateText)}
  `
}

function rateText(value = 0): string {
  return value >= 10 || value === 0 ? count(Math.round(value)) : value.toFixed(1)
}

function Facts({ overview }: { readonly overview: Overview }): VNode {
  const { endpoints, connectionString, accounts, storeBytes, diskFreeBytes, location, version } =
    overview
  return html`<div class="facts">
    <section class="card" aria-labelledby="connect">
      <h2 id="connect">Connect</h2>
      <div class="copied">
        <code class="long">${connectionString}</code
        ><${CopyButton} text=${connectionString} label="Copy the connection string" />
      </div>
      <dl class="rows endpoints">
        ${endpoints.map(
          ({ service, url }) =>
            html`<dt>${SERVICES[service] ?? service}</dt>
              <dd class="copied">
                <code>${url}</code
                ><${CopyButton}
                  text=${url}
                  label=${`Copy the URL of ${SERVICES[service] ?? service}`}
                />
              </dd>`,
        )}
      </dl>
    </section>
    <section class="card" aria-labelledby="server">
      <h2 id="server">Server</h2>
      <dl class="rows">
        <dt>Version</dt>
        <dd>${version}</dd>
        <dt>Data</dt>
        <dd>${location ?? 'in memory, lost when the server stops'}</dd>
        <dt>Size</dt>
        <dd>
          ${bytes(storeBytes)}${diskFreeBytes !== undefined && html` <span class="muted">${bytes(diskFreeBytes)} free</span>`}
        </dd>
      </dl>
      <h3>Accounts</h3>
      <ul class="plain">
        ${accounts.map((name) => html`<${AccountRow} key=${name} name=${name} />`)}
      </ul>
      <${Nodes} />
    </section>
  </div>`
}

const SERVICES: Readonly<Record<string, string>> = {
  blob: 'Blob', queue: 'Queue', table: 'Table', file: 'File', dfs: 'Data Lake', smb: 'SMB', web: 'Website',
} // prettier-ignore

/** Keys are asked for only by a click. */
function AccountRow({ name }: { readonly name: string }): VNode {
  const [keys, setKeys] = useState<AccountKeys | undefined>(undefined)
  const show = async (): Promise<void> =>
    setKeys(await post<AccountKeys>(`accounts/${segment(name)}/keys`))
  return html`<li class="account">
    <div class="account-head">
      <strong>${name}</strong>
      ${keys === undefined ? html`<${ActionButton} icon="key" run=${show}>Show keys<//>` : html`<${CopyButton} kind="plain" text=${keys.connectionString} label=${`Copy the connection string of ${name}`}>Connection string<//>`}
    </div>
    ${keys?.keys.map((key, at) => html`<div class="copied"><code class="long">${key}</code><${CopyButton} text=${key} label=${`Copy key ${at + 1} of ${name}`} /></div>`)}
  </li>`
}

type Node = {
  readonly name: string
  readonly version: string
  readonly roles: readonly string[]
  readonly isSilent: boolean
  readonly heartbeatAgeMs: number
}

/** Only if there are several. */
function Nodes(): VNode | undefined {
  const { answer } = useAnswer<{ readonly nodes: readonly Node[] }>('nodes', { everyMs: ASK_MS })
  const nodes = answer.value.value?.nodes ?? []
  if (nodes.length === 0) return undefined
  return html`<h3>Nodes</h3>
    <ul class="plain">
      ${nodes.map(
        ({ name, version, roles, isSilent, heartbeatAgeMs }) =>
          html`<li>
            <strong>${name}</strong> <span class="muted">${version}</span> ${roles.join(', ')}
            ${isSilent ? html` <span class="bad-text">silent for ${duration(heartbeatAgeMs)}</span>` : ''}
          </li>`,
      )}
    </ul>`
}

const SHOWN_MAX = 8

function RecentConflicts(): VNode {
  const conflicts = entries.value.filter(({ isConflict }) => isConflict)
  const newest = conflicts.slice(-SHOWN_MAX).reverse()
  return html`<section class="card" aria-labelledby="conflicts">
    <header class="between">
      <h2 id="conflicts">Recent conflicts</h2>
      ${newest.length > 0 && html`<a href="#/journal?conflicts=true">${plural(conflicts.length, 'conflict')}</a>`}
    </header>
    ${
      journalFailure.value !== undefined
        ? html`<p class="muted">${journalFailure.value}</p>`
        : newest.length === 0
          ? html`<${Empty} title="No conflicts"
              >No request was refused because of what another client did.<//
            >`
          : html`<ul class="conflicts">
              ${newest.map(
                (entry) =>
                  html`<li key=${entry.id}>
                    <${StatusBadge} outcome=${entry} />
                    <a href=${`#/journal/${entry.id}`}>${entry.client.name}: ${entry.operation}</a>
                    <span class="name" title=${entry.resource}>${lastName(entry.resource)}</span>
                    <span class="muted"
                      >${entry.winner === undefined ? (entry.errorCode ?? '') : `lost to ${entry.winner.client}, ${duration(entry.winner.beforeMs)} before`}</span
                    >
                    <time class="muted" datetime=${entry.time}>${timeOfDay(entry.time)}</time>
                  </li>`,
              )}
            </ul>`
    }
  </section>`
}
