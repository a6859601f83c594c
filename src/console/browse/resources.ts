// The containers, queues, tables or shares of an account: create, open, delete.
import { html, useMemo, useState, type VNode } from '../page/library.ts'
import { goTo, linkTo } from '../page/router.ts'
import { Badge } from '../page/ui/badge.ts'
import { Button } from '../page/ui/button.ts'
import { Field } from '../page/ui/field.ts'
import { bytes, dateAndTime } from '../page/ui/format.ts'
import { Icon } from '../page/ui/icon.ts'
import { Empty } from '../page/ui/states.ts'
import { Table, type Column } from '../page/ui/table.ts'
import { PagedView, useChanges, usePaged } from './paged.ts'
import { FormDialog, offerUndo } from './parts.ts'
import { ask, type Area, type Ask, type ServiceName } from './storage.ts'
import { askXml, childrenOf, childOf, nameOf, pairsOf, textAt } from './xml.ts'

export type Resource = {
  readonly name: string
  readonly modified: string
  readonly facts: Readonly<Record<string, string>>
}

type Kind = {
  readonly one: string
  readonly element: string
  readonly nameHint: string
  create(name: string): Ask
  remove(name: string): Ask
}

const JSON_TYPES = {
  'Content-Type': 'application/json',
  Accept: 'application/json;odata=nometadata',
}
const CONTAINER_NAME = '3 to 63 lower-case letters, digits and hyphens.'

export const KINDS: Readonly<Record<ServiceName, Kind>> = {
  blob: {
    one: 'container', element: 'Container', nameHint: CONTAINER_NAME,
    create: (name) => ({ method: 'PUT', path: [name], query: { restype: 'container' } }),
    remove: (name) => ({ method: 'DELETE', path: [name], query: { restype: 'container' } }),
  },
  queue: {
    one: 'queue', element: 'Queue', nameHint: CONTAINER_NAME,
    create: (name) => ({ method: 'PUT', path: [name] }),
    remove: (name) => ({ method: 'DELETE', path: [name] }),
  },
  table: {
    one: 'table', element: '', nameHint: '3 to 63 letters and digits; the first is a letter.',
    create: (name) => ({ method: 'POST', path: ['Tables'], headers: JSON_TYPES, body: JSON.stringify({ TableName: name }) }),
    remove: (name) => ({ method: 'DELETE', path: [`Tables('${name}')`], headers: JSON_TYPES }),
  },
  file: {
    one: 'share', element: 'Share', nameHint: CONTAINER_NAME,
    create: (name) => ({ method: 'PUT', path: [name], query: { restype: 'share' } }),
    remove: (name) => ({ method: 'DELETE', path: [name], query: { restype: 'share' }, headers: { 'x-ms-delete-snapshots': 'include' } }),
  },
} // prettier-ignore

async function listResources(area: Area, prefix: string, marker?: string, signal?: AbortSignal) {
  if (area.service === 'table') return listTables(area, prefix, marker, signal)
  const query = { comp: 'list', prefix, marker, maxresults: 1_000 }
  const list = await askXml(area, { query, signal })
  const { element } = KINDS[area.service]
  const rows = childrenOf(childOf(list, `${element}s`), element).map((each): Resource => {
    const facts = pairsOf(childOf(each, 'Properties'))
    return { name: nameOf(each), modified: facts['Last-Modified'] ?? '', facts }
  })
  return { rows, next: childOf(list, 'NextMarker')?.textContent || undefined }
}

async function listTables(area: Area, prefix: string, marker?: string, signal?: AbortSignal) {
  // The first name after all that begin with the prefix.
  const filter =
    prefix === '' ? undefined : `TableName ge '${prefix}' and TableName lt '${prefix}{'`
  const query = { $filter: filter, NextTableName: marker }
  const answer = await ask(area, { path: ['Tables'], query, headers: JSON_TYPES, signal })
  const { value } = (await answer.json()) as { readonly value: readonly { TableName: string }[] }
  const rows = value.map(({ TableName: name }): Resource => ({ name, modified: '', facts: {} }))
  return { rows, next: answer.headers.get('x-ms-continuation-nexttablename') ?? undefined }
}

export function Resources({ area, title }: { readonly area: Area; readonly title: string }): VNode {
  const [prefix, setPrefix] = useState('')
  const [dialog, setDialog] = useState<'create' | Resource | undefined>(undefined)
  const paged = usePaged<Resource>(prefix, (marker, signal) =>
    listResources(area, prefix, marker, signal),
  )
  useChanges(`/${area.account}`, paged.changed)
  const kind = KINDS[area.service]
  const columns = useMemo(() => columnsOf(area, setDialog), [area])
  const close = (): void => setDialog(undefined)
  const create = html`<${Button} icon="plus" kind="primary" onClick=${() => setDialog('create')}
    >Create ${kind.one}<//
  >`
  return html`
    <div class="browse-tools">
      <${Field}
        label="Names that begin with"
        hasHiddenLabel=${true}
        type="search"
        placeholder="Names that begin with …"
        value=${prefix}
        onChange=${setPrefix}
      />
      <div class="actions">
        <${Button} icon="refresh" label="Load again" onClick=${() => paged.reload()} />
        ${create}
      </div>
    </div>
    <${PagedView}
      paged=${paged}
      empty=${html`<${Empty}
        icon="folder"
        title=${prefix === '' ? `There is no ${kind.one} yet` : `No ${kind.one} begins so`}
      >
        ${prefix === '' && 'Create one here, or with any client. It appears at once.'}
      <//>`}
    >
      ${(rows: readonly Resource[]) => html`<${Table} label=${title} rows=${rows} columns=${columns} keyOf=${(row: Resource) => row.name} onEnd=${paged.more} height="65vh" />`}
    <//>
    ${dialog === 'create' && html`<${CreateDialog} area=${area} onClose=${close} />`}
    ${typeof dialog === 'object' && html`<${DeleteDialog} area=${area} name=${dialog.name} onClose=${close} onDone=${paged.changed} />`}
  `
}

function columnsOf(area: Area, remove: (row: Resource) => void): readonly Column<Resource>[] {
  const { one } = KINDS[area.service]
  return [
    { title: 'Name', width: 'minmax(8em, 3fr)', cell: ({ name }) =>
      html`<a class="item" href=${linkTo(`browse/${area.service}/${area.account}/${encodeURIComponent(name)}`)}><${Icon} name="folder" />${name}</a>` },
    ...(area.service === 'blob' || area.service === 'file' ? [
      { title: 'Lease', width: '6em', isExtra: true, cell: ({ facts }: Resource) => facts['LeaseState'] === 'available' ? '' : html`<${Badge} tone="warn">${facts['LeaseState']}<//>` },
      { title: area.service === 'blob' ? 'Public' : 'Quota', width: '7em', isExtra: true, cell: ({ facts }: Resource) =>
        area.service === 'blob' ? (facts['PublicAccess'] ?? '') : bytes(Number(facts['Quota'] ?? 0) * 2 ** 30) },
      { title: 'Changed', width: '12em', isExtra: true, cell: ({ modified }: Resource) => when(modified) },
    ] : []),
    { title: '', width: '2.2em', cell: (row) => html`<${Button} icon="trash" kind="quiet" label=${`Delete the ${one} ${row.name}`} onClick=${() => remove(row)} />` },
  ]
} // prettier-ignore

/** An HTTP date, as the page shows times. */
export function when(date: string | null | undefined): VNode | string {
  if (date === null || date === undefined || Number.isNaN(Date.parse(date))) return ''
  const iso = new Date(date).toISOString()
  return html`<time datetime=${iso}>${dateAndTime(iso)}</time>`
}

type DialogProps = { readonly area: Area; onClose(): void }

function CreateDialog({ area, onClose }: DialogProps): VNode {
  const [name, setName] = useState('')
  const kind = KINDS[area.service]
  const create = async (): Promise<void> => {
    await ask(area, kind.create(name))
    goTo(`browse/${area.service}/${area.account}/${encodeURIComponent(name)}`)
  }
  return html`<${FormDialog}
    title=${`Create a ${kind.one}`}
    action="Create"
    run=${create}
    onClose=${onClose}
  >
    <${Field}
      label="Name"
      value=${name}
      onChange=${setName}
      hint=${kind.nameHint}
      isRequired=${true}
    />
  <//>`
}

function canKeep({ service }: Area): boolean {
  return service === 'blob' || service === 'file'
}

/** What brings it back, if soft delete has kept it. */
async function undeleteOf(area: Area, name: string, onDone: () => void) {
  if (!canKeep(area)) return undefined
  const { element, one, create } = KINDS[area.service]
  const list = await askXml(area, { query: { comp: 'list', prefix: name, include: 'deleted' } })
  const kept = childrenOf(childOf(list, `${element}s`), element).findLast(
    (each) => nameOf(each) === name && textAt(each, 'Deleted') === 'true',
  )
  if (kept === undefined) return undefined
  const asked = create(name)
  const headers = {
    [`x-ms-deleted-${one}-name`]: name,
    [`x-ms-deleted-${one}-version`]: textAt(kept, 'Version'),
  }
  return () =>
    ask(area, { ...asked, query: { ...asked.query, comp: 'undelete' }, headers }).then(onDone)
}

type DeleteProps = DialogProps & { readonly name: string; onDone(): void }

function DeleteDialog({ area, name, onClose, onDone }: DeleteProps): VNode {
  const { one, remove } = KINDS[area.service]
  const run = async (): Promise<void> => {
    await ask(area, remove(name))
    offerUndo(`Deleted the ${one} ${name}`, await undeleteOf(area, name, onDone))
    onDone()
  }
  return html`<${FormDialog}
    title=${`Delete the ${one}?`}
    action="Delete"
    isDanger=${true}
    run=${run}
    onClose=${onClose}
  >
    <p>
      The ${one} <strong class="name">${name}</strong> and everything in it will be deleted.
      ${canKeep(area) ? 'Where soft delete is on, it can be restored.' : 'This can’t be undone.'}
    </p>
  <//>`
}
