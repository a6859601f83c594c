// The journal, live: filters, a pause, and the page of one request.
import type { JournalEntry } from '../../../control/api.ts'
import { html, signal, useMemo, type VNode } from '../library.ts'
import { entries, isJournalLoaded, journalFailure, missedCount } from '../live/journal.ts'
import { changeQuery, linkTo, place } from '../router.ts'
import { ResourceLink } from '../ui/resource.ts'
import { StatusBadge } from '../ui/badge.ts'
import { Button } from '../ui/button.ts'
import { Check, Field } from '../ui/field.ts'
import { duration, plural, timeOfDay } from '../ui/format.ts'
import { Empty, Failure, Loading } from '../ui/states.ts'
import { Table, type Column } from '../ui/table.ts'
import { isShown, type JournalView } from './journal/filter.ts'
import { RequestPage } from './journal/request.ts'

/** What was there when the list was paused. */
const paused = signal<readonly JournalEntry[] | undefined>(undefined)

export function JournalPage({ rest }: { readonly rest: string }): VNode {
  return rest === '' ? html`<${List} />` : html`<${RequestPage} id=${Number(rest)} />`
}

function List(): VNode {
  const view = viewOf(place.value.query)
  const all = paused.value ?? entries.value
  const rows = useMemo(
    () => all.filter((entry) => isShown(entry, view)),
    [all, JSON.stringify(view)],
  )
  return html`
    <div class="page-head">
      <h1>Journal</h1>
      <${PauseButton} />
    </div>
    <${Filters} view=${view} all=${all} />
    ${missedCount.value > 0 && html`<${Failure}>${plural(missedCount.value, 'request')} came and went too fast to be shown.<//>`}
    ${rows.length > 0 ? html`<${Rows} rows=${rows} />` : html`<${NoRows} isFiltered=${all.length > 0} />`}
    <p class="muted" aria-live="polite">
      ${plural(rows.length, 'request')}${rows.length < all.length ? ` of ${all.length}` : ''}
    </p>
  `
}

function viewOf(query: URLSearchParams): JournalView {
  const text = (name: string): string => query.get(name) ?? ''
  return {
    text: text('text'), client: text('client'), operation: text('operation'), service: text('service'),
    resource: text('resource'), conflicts: text('conflicts') === 'true', consoleReads: text('consoleReads') === 'true',
  } // prettier-ignore
}

function PauseButton(): VNode {
  const isPaused = paused.value !== undefined
  const last = paused.value?.at(-1)?.id ?? 0
  const waiting = isPaused ? entries.value.filter(({ id }) => id > last).length : 0
  const toggle = (): void => {
    paused.value = isPaused ? undefined : entries.value
  }
  return html`<${Button}
    icon=${isPaused ? 'play' : 'pause'}
    isPressed=${isPaused}
    onClick=${toggle}
  >
    ${isPaused ? `Go on${waiting > 0 ? ` (${waiting} new)` : ''}` : 'Pause'}
  <//>`
}

const SERVICES = ['blob', 'queue', 'table', 'file', 'smb']

function Filters({
  view,
  all,
}: {
  readonly view: JournalView
  readonly all: readonly JournalEntry[]
}): VNode {
  const clients = useMemo(() => [...new Set(all.map(({ client }) => client.name))].sort(), [all])
  const operations = useMemo(
    () => [...new Set(all.map(({ operation }) => operation))].sort(),
    [all],
  )
  const set = (name: keyof JournalView) => (value: string) => changeQuery({ [name]: value })
  const any = (title: string, values: readonly string[]) => [{ value: '', title }, ...values]
  return html`<form
    class="filters"
    role="search"
    aria-label="Filter the journal"
    onSubmit=${(event: Event) => event.preventDefault()}
  >
    <${Field}
      label="Text"
      hasHiddenLabel
      type="search"
      placeholder="Resource, status, ETag …"
      value=${view.text}
      onChange=${set('text')}
    />
    <${Field}
      label="Client"
      hasHiddenLabel
      value=${view.client}
      choices=${any('All clients', withOwn(clients, view.client))}
      onChange=${set('client')}
    />
    <${Field}
      label="Operation"
      hasHiddenLabel
      value=${view.operation}
      choices=${any('All operations', withOwn(operations, view.operation))}
      onChange=${set('operation')}
    />
    <${Field}
      label="Service"
      hasHiddenLabel
      value=${view.service}
      choices=${any('All services', SERVICES)}
      onChange=${set('service')}
    />
    <${Check}
      label="Only conflicts"
      isChecked=${view.conflicts}
      onChange=${(is: boolean) => changeQuery({ conflicts: is ? 'true' : undefined })}
    />
    <${Check}
      label="Reads of this page"
      isChecked=${view.consoleReads}
      onChange=${(is: boolean) => changeQuery({ consoleReads: is ? 'true' : undefined })}
    />
    ${view.resource !== '' && html`<${Button} icon="close" onClick=${() => changeQuery({ resource: undefined })}>${view.resource}<//>`}
  </form>`
}

/** A link may ask for what is no longer in the list. */
function withOwn(values: readonly string[], own: string): readonly string[] {
  return own === '' || values.includes(own) ? values : [...values, own]
}

const COLUMNS: readonly Column<JournalEntry>[] = [
  { title: 'Time', width: '7rem', isExtra: true, cell: ({ time }) => html`<time datetime=${time}>${timeOfDay(time)}</time>` },
  { title: '#', width: '3rem', isNumber: true, cell: ({ id }) => html`<a href=${linkTo(`journal/${id}`)}>${id}</a>` },
  { title: 'Client', width: 'minmax(5rem, 1.1fr)', cell: ({ client }) => html`<span title=${client.name}>${client.name}</span>` },
  { title: 'Operation', width: 'minmax(7rem, 1.4fr)', cell: ({ operation }) => operation },
  { title: 'Status', width: 'minmax(5.4rem, 0.7fr)', cell: (entry) => html`<${StatusBadge} outcome=${entry} />` },
  { title: 'Resource', width: 'minmax(6rem, 2fr)', isPath: true, isExtra: true, cell: ({ resource }) => html`<${ResourceLink} resource=${resource} />` },
  { title: 'What happened', width: 'minmax(7rem, 3fr)', isExtra: true, cell: verdict },
  { title: 'Took', width: '4.4rem', isNumber: true, isExtra: true, cell: ({ durationMs }) => duration(durationMs) },
] // prettier-ignore

function verdict({ errorCode, lostTo, winner, refusedBy }: JournalEntry): unknown {
  if (errorCode === undefined) return ''
  const by = refusedBy === undefined ? '' : ` by ${refusedBy}`
  if (lostTo === undefined) return errorCode + by
  return html`${`${errorCode}, `}<a href=${linkTo(`journal/${lostTo}`)}
      >lost to ${winner?.client ?? `#${lostTo}`}</a
    >`
}

function Rows({ rows }: { readonly rows: readonly JournalEntry[] }): VNode {
  return html`<${Table}
    label="Requests, oldest first"
    rows=${rows}
    columns=${COLUMNS}
    keyOf=${({ id }: JournalEntry) => id}
    classOf=${({ isConflict }: JournalEntry) => (isConflict ? 'conflict' : '')}
    followsEnd
    height="calc(100vh - 15rem)"
  />`
}

function NoRows({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  if (journalFailure.value !== undefined) return html`<${Failure}>${journalFailure.value}<//>`
  if (!isJournalLoaded.value) return html`<${Loading} what="Loading the journal" />`
  if (isFiltered)
    return html`<${Empty} icon="journal" title="No request matches">Change the filters above.<//>`
  return html`<${Empty} icon="journal" title="No requests yet"
    >Requests of all clients appear here as soon as they have ended.<//
  >`
}
