// A table as a grid: a column for each property of the entities that are shown, with its type.
import { html, useMemo, useState, type VNode } from '../../page/library.ts'
import { Button } from '../../page/ui/button.ts'
import { dateAndTime, plural } from '../../page/ui/format.ts'
import { Empty } from '../../page/ui/states.ts'
import { Table, type Column } from '../../page/ui/table.ts'
import { PagedView, useChanges, usePaged, type PageOf } from '../paged.ts'
import { SasDialog } from '../sas-dialog.ts'
import { ask, type Area } from '../storage.ts'
import { byName, entityOf, type Entity } from './entity.ts'
import { EntityDialog, NewEntityDialog } from './entity-dialog.ts'

type TableProps = { readonly area: Area; readonly name: string }

const FULL = { Accept: 'application/json;odata=fullmetadata' }
const PAGE_COUNT = 200
const COLUMNS_MAX = 60

async function query(
  { area, name }: TableProps,
  filter: string,
  marker: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<Entity>> {
  const next = marker === undefined ? {} : (JSON.parse(marker) as Record<string, string>)
  const fields = { $filter: filter, $top: PAGE_COUNT, ...next }
  const answer = await ask(area, { path: [`${name}()`], query: fields, headers: FULL, signal })
  const { value } = (await answer.json()) as { readonly value: readonly Record<string, unknown>[] }
  const partition = answer.headers.get('x-ms-continuation-nextpartitionkey')
  const row = answer.headers.get('x-ms-continuation-nextrowkey')
  return {
    rows: value.map(entityOf),
    next:
      partition === null
        ? undefined
        : JSON.stringify({ NextPartitionKey: partition, ...(row !== null && { NextRowKey: row }) }),
  }
}

export function TableView({ area, name }: TableProps): VNode {
  const [typed, setTyped] = useState('')
  const [filter, setFilter] = useState('')
  const [dialog, setDialog] = useState<'new' | 'sas' | Entity | undefined>(undefined)
  const paged = usePaged<Entity>(filter, (marker, signal) =>
    query({ area, name }, filter, marker, signal),
  )
  useChanges(`/${area.account}/${name}`, paged.changed)
  const { rows } = paged.state.value
  const columns = useMemo(() => columnsOf(rows, setDialog), [rows, rows.length])
  const close = (): void => setDialog(undefined)
  const submit = (event: Event): void => {
    event.preventDefault()
    setFilter(typed.trim())
  }
  return html`
    <div class="browse-tools">
      <form class="filter-form" role="search" onSubmit=${submit}>
        <input
          type="search"
          aria-label="Filter"
          placeholder="PartitionKey eq 'a' and size gt 5"
          value=${typed}
          spellcheck=${false}
          autocomplete="off"
          onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)}
        />
        <${Button} type="submit">Filter<//>
      </form>
      <div class="actions">
        <${Button} icon="refresh" label="Load again" onClick=${() => paged.reload()} />
        <${Button} icon="key" label="Share the table" onClick=${() => setDialog('sas')} />
        <${Button} icon="plus" kind="primary" onClick=${() => setDialog('new')}>Insert an entity<//>
      </div>
    </div>
    <${PagedView}
      paged=${paged}
      empty=${html`<${Empty} icon="file" title=${filter === '' ? 'The table is empty' : 'No entity fits the filter'}>${filter === '' && 'Insert an entity here, or with any client.'}<//>`}
    >
      ${() => html`
        <div class="grid" tabindex="0" role="region" aria-label=${`Entities of ${name}`}>
          <div class="grid-inner" style=${{ minWidth: `${columns.length * 9.5}em` }}>
            <${Table}
              label=${`Entities of ${name}`}
              rows=${rows}
              columns=${columns}
              keyOf=${({ partitionKey, rowKey }: Entity) => JSON.stringify([partitionKey, rowKey])}
              onEnd=${paged.more}
              height="62vh"
            />
          </div>
        </div>
        <p class="muted count-line" aria-live="polite">
          ${plural(rows.length, 'entity', 'entities')}${paged.state.value.hasMore ? ', and more as you scroll' : ''}
        </p>
      `}
    <//>
    ${dialog === 'sas' && html`<${SasDialog} area=${area} path=${name} onClose=${close} />`}
    ${dialog === 'new' && html`<${NewEntityDialog} area=${area} table=${name} onClose=${close} onDone=${paged.changed} />`}
    ${typeof dialog === 'object' && html`<${EntityDialog} area=${area} table=${name} entity=${dialog} onClose=${close} onDone=${paged.changed} />`}
  `
}

const WIDTHS: Readonly<Record<string, string>> = { Boolean: '6em', Int32: '6em', DateTime: '13em' }

function columnsOf(
  rows: readonly Entity[],
  open: (entity: Entity) => void,
): readonly Column<Entity>[] {
  const types = new Map<string, Set<string>>()
  for (const { properties } of rows) {
    for (const { name, type } of properties)
      types.set(name, (types.get(name) ?? new Set()).add(type))
  }
  const own = [...types].slice(0, COLUMNS_MAX).map(([name, found]): Column<Entity> => {
    const type = [...found].join(' or ')
    const isNumber = /^(Int32|Int64|Double)$/.test(type)
    return {
      title: `${name} (${type})`,
      width: `minmax(${WIDTHS[type] ?? '8em'}, 1fr)`,
      isNumber,
      cell: ({ properties }) =>
        byName(properties).get(name)?.value ?? html`<span class="muted">–</span>`,
    }
  })
  return [
    { title: 'PartitionKey', width: 'minmax(7em, 1fr)', cell: ({ partitionKey }) => partitionKey },
    {
      title: 'RowKey',
      width: 'minmax(7em, 1fr)',
      cell: (row) =>
        html`<button
          type="button"
          class="text-button"
          aria-label=${`Edit ${row.partitionKey} ${row.rowKey}`}
          onClick=${() => open(row)}
        >
          ${row.rowKey === '' ? '(empty)' : row.rowKey}
        </button>`,
    },
    ...own,
    {
      title: 'Timestamp',
      width: '12em',
      isExtra: true,
      cell: ({ timestamp }) => html`<time datetime=${timestamp}>${dateAndTime(timestamp)}</time>`,
    },
  ]
}
