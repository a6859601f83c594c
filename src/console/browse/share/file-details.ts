// One file or directory: what is in it, what is known of it, and who has it open over SMB.
import type { HeldLock, HeldOpen } from '../../../control/api.ts'
import { messageOf, remove as removeAt, segment } from '../../page/api/call.ts'
import { html, useEffect, useMemo, useState, type VNode } from '../../page/library.ts'
import { useAnswer } from '../../page/live/query.ts'
import { changeQuery } from '../../page/router.ts'
import { Badge } from '../../page/ui/badge.ts'
import { ActionButton, Button, CopyButton } from '../../page/ui/button.ts'
import { Field } from '../../page/ui/field.ts'
import { bytes, lastName } from '../../page/ui/format.ts'
import { Empty, Failure, Loading, shown } from '../../page/ui/states.ts'
import { Tabs } from '../../page/ui/tabs.ts'
import { download } from '../download.ts'
import { useChanges } from '../paged.ts'
import { FactList, FormDialog, offerUndo, PairsForm, reachable } from '../parts.ts'
import { Preview } from '../preview.ts'
import { when } from '../resources.ts'
import { SasDialog } from '../sas-dialog.ts'
import { ask, metadataHeaders, metadataOf, pathOf } from '../storage.ts'
import { itemRequest, type Item, type ShareOf } from './share-list.ts'

type DetailsProps = {
  readonly of: ShareOf
  readonly item: Item
  readonly endpoint: string
  onClose(): void
}

export function FileDetails(props: DetailsProps): VNode {
  const { of, item, onClose } = props
  const [headers, setHeaders] = useState<Headers | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const load = useMemo(
    () => (): void =>
      void ask(of.area, { ...itemRequest(of, item), method: 'HEAD' }).then(
        (answer) => (setFailure(undefined), setHeaders(answer.headers)),
        (error: unknown) => setFailure(messageOf(error)),
      ),
    [],
  )
  useEffect(load, [])
  useChanges(`/${of.area.account}/${of.share}/${item.path}`, load)
  return html`<section
    class="details card"
    aria-label=${`${item.isDirectory ? 'Directory' : 'File'} ${item.path}`}
  >
    <header class="details-head">
      <h2 class="name">${lastName(item.path)}</h2>
      <${Button} icon="close" kind="quiet" label="Close the details" onClick=${onClose} />
    </header>
    ${failure !== undefined && html`<${Failure}>${failure}<//>`}
    ${headers === undefined && failure === undefined && html`<${Loading} />`}
    ${headers !== undefined && failure === undefined && html`<${Known} ...${props} headers=${headers} reload=${load} />`}
  </section>`
}

type KnownProps = DetailsProps & { readonly headers: Headers; reload(): void }
type TabId = 'content' | 'properties' | 'metadata' | 'opens'

function Known(props: KnownProps): VNode {
  const { of, item, headers } = props
  const [tab, setTab] = useState<TabId>(item.isDirectory ? 'properties' : 'content')
  const tabs = [
    ...(item.isDirectory ? [] : [{ id: 'content', title: 'Content' }]),
    { id: 'properties', title: 'Properties' },
    { id: 'metadata', title: 'Metadata' },
    { id: 'opens', title: 'Opens and locks' },
  ]
  const type = headers.get('x-lazuli-content-type') ?? ''
  const sizeBytes = Number(headers.get('content-length'))
  const etag = headers.get('etag')
  const panels: Readonly<Record<TabId, () => unknown>> = {
    content: () =>
      html`<${Preview}
        key=${etag}
        area=${of.area}
        request=${itemRequest(of, item)}
        name=${item.path}
        type=${type}
        sizeBytes=${sizeBytes}
      />`,
    properties: () => html`<${Properties} headers=${headers} />`,
    metadata: () => html`<${Metadata} key=${etag} ...${props} />`,
    opens: () => html`<${Opens} of=${of} item=${item} />`,
  }
  return html`
    ${!item.isDirectory && html`<p class="muted facts-line">${bytes(sizeBytes)} · ${type} · ${when(headers.get('last-modified'))}</p>`}
    <${Actions} ...${props} />
    <${Tabs} label="Parts of the file" tabs=${tabs} selected=${tab} onSelect=${setTab}
      >${panels[tab]()}<//
    >
  `
}

function Actions({ of, item, endpoint, onClose }: KnownProps): VNode {
  const [dialog, setDialog] = useState<'sas' | 'delete' | 'rename' | undefined>(undefined)
  const { area, share, snapshot } = of
  const close = (): void => setDialog(undefined)
  const url = reachable(`${endpoint}/${area.account}/${pathOf([share, item.path])}`)
  const remove = async (): Promise<void> => {
    await ask(area, { ...itemRequest(of, item), method: 'DELETE' })
    offerUndo(`Deleted ${item.path}`)
    onClose()
  }
  return html`<div class="actions">
      ${!item.isDirectory && html`<${ActionButton} icon="download" run=${() => download(area, itemRequest(of, item), item.path)}>Download<//>`}
      <${CopyButton} text=${url} label="Copy the URL" kind="plain">URL<//>
      ${!item.isDirectory && html`<${Button} icon="key" onClick=${() => setDialog('sas')}>SAS<//>`}
      ${
        snapshot === undefined &&
        html`<${Button} icon="edit" onClick=${() => setDialog('rename')}>Rename<//>
          <${Button} icon="trash" kind="danger" onClick=${() => setDialog('delete')}>Delete<//>`
      }
    </div>
    ${dialog === 'sas' && html`<${SasDialog} area=${area} path=${`${share}/${item.path}`} onClose=${close} />`}
    ${dialog === 'rename' && html`<${RenameDialog} of=${of} item=${item} url=${url} onClose=${close} />`}
    ${
      dialog === 'delete' &&
      html`<${FormDialog}
        title="Delete it?"
        action="Delete"
        onClose=${close}
        isDanger=${true}
        run=${remove}
      >
        <p>
          <strong class="name">${item.path}</strong> will be deleted. Shares have no soft delete for
          files: this can’t be undone.
        </p>
      <//>`
    }`
}

type RenameProps = {
  readonly of: ShareOf
  readonly item: Item
  readonly url: string
  onClose(): void
}

function RenameDialog({ of: { area, share }, item, url, onClose }: RenameProps): VNode {
  const [path, setPath] = useState(item.path)
  const run = async (): Promise<void> => {
    const query = { comp: 'rename', restype: item.isDirectory ? 'directory' : undefined }
    await ask(area, {
      method: 'PUT',
      path: [share, path],
      query,
      headers: { 'x-ms-file-rename-source': url },
    })
    changeQuery({ item: path })
  }
  return html`<${FormDialog} title="Rename" action="Rename" run=${run} onClose=${onClose}>
    <${Field}
      label="Path within the share"
      value=${path}
      onChange=${setPath}
      hint="Another directory moves it."
      isRequired=${true}
    />
  <//>`
}

const SHOWN =
  /^(etag|last-modified|x-ms-(file-|lease-|server-encrypted|type$|copy-|content-md5)|x-lazuli-content-(type|encoding|language|disposition))/

function Properties({ headers }: { readonly headers: Headers }): VNode {
  const own = [...headers].filter(([name]) => SHOWN.test(name))
  const facts = own.map(
    ([name, value]) => [name.replace(/^x-(ms|lazuli)-/, ''), html`<code>${value}</code>`] as const,
  )
  return html`<${FactList} facts=${facts} />`
}

function Metadata({ of, item, headers, reload }: KnownProps): VNode {
  const request = itemRequest(of, item)
  const save = async (metadata: Readonly<Record<string, string>>): Promise<void> => {
    await ask(of.area, {
      ...request,
      method: 'PUT',
      query: { ...request.query, comp: 'metadata' },
      headers: metadataHeaders(metadata),
    })
    reload()
  }
  return html`<${PairsForm} label="Metadata" known=${metadataOf(headers)} save=${save} />`
}

const ASK_MS = 2_000
const QUERY = { countMax: 10_000 }

function Opens({ of: { area, share }, item }: Pick<DetailsProps, 'of' | 'item'>): VNode {
  const opens = useAnswer<{ readonly opens: readonly HeldOpen[] }>('opens', {
    everyMs: ASK_MS,
    query: QUERY,
  })
  const locks = useAnswer<{ readonly locks: readonly HeldLock[] }>('locks', {
    everyMs: ASK_MS,
    query: QUERY,
  })
  const resource = `/${area.account}/${share}/${item.path}`.toLowerCase()
  const isOwn = (each: { readonly resource: string }): boolean =>
    each.resource.toLowerCase() === resource
  const shut = async (id: string): Promise<void> => {
    await removeAt(`opens/${segment(id)}`)
    await opens.refresh()
  }
  return html`${shown(opens.answer.value, (value) => {
    const own = value.opens.filter(isOwn)
    if (own.length === 0) return html`<${Empty} icon="done" title="Nobody has it open over SMB" />`
    return html`<ul class="plain past">
      ${own.map(
        (open) =>
          html`<li class="past-row" key=${open.id}>
            <div>
              <strong>${open.user}</strong> <span class="muted">at ${open.address}</span>
              <div>
                may ${open.access.join(', ') || 'nothing'}; lets others
                ${open.shares.join(', ') || 'do nothing'}
                ${open.caches.length > 0 && html` <${Badge} tone="info">caches ${open.caches.join(', ')}<//>`}
                ${open.isDeletePending && html` <${Badge} tone="bad">to be deleted<//>`}
              </div>
              <${Locks}
                locks=${(locks.answer.value.value?.locks ?? []).filter(({ openId }) => openId === open.id)}
              />
            </div>
            <div class="actions">
              <${ActionButton} kind="danger" done="Closed" run=${() => shut(open.id)}>Close<//>
            </div>
          </li>`,
      )}
    </ul>`
  })}`
}

function Locks({ locks }: { readonly locks: readonly HeldLock[] }): VNode {
  if (locks.length === 0) return html`<div class="muted">no locks</div>`
  return html`<ul>
    ${locks.map((lock) => html`<li>${lock.isExclusive ? 'exclusive' : 'shared'} lock: ${lock.length} bytes from ${lock.offset}</li>`)}
  </ul>`
}
