// One blob: what is in it, what is known of it, and what can be done with it.
import { messageOf } from '../../page/api/call.ts'
import { html, useEffect, useMemo, useState, type VNode } from '../../page/library.ts'
import { Badge } from '../../page/ui/badge.ts'
import { ActionButton, Button, CopyButton } from '../../page/ui/button.ts'
import { bytes, lastName } from '../../page/ui/format.ts'
import { Failure, Loading } from '../../page/ui/states.ts'
import { Tabs } from '../../page/ui/tabs.ts'
import { download } from '../download.ts'
import { useChanges } from '../paged.ts'
import { FactList, FormDialog, offerUndo, PairsForm, reachable } from '../parts.ts'
import { Preview } from '../preview.ts'
import { when } from '../resources.ts'
import { SasDialog } from '../sas-dialog.ts'
import { ask, isCode, metadataHeaders, metadataOf, pathOf } from '../storage.ts'
import type { BlobProps, Retention } from './blob-list.ts'
import { DeletedBlob } from './deleted-blob.ts'
import { LeasePanel } from './lease-panel.ts'
import { PastPanel } from './past-panel.ts'
import { TagsPanel } from './tags-panel.ts'

type DetailsProps = BlobProps & {
  readonly endpoint: string
  readonly retention: Retention | undefined
  onClose(): void
}

type Head =
  { readonly headers: Headers } | { readonly failure: string; readonly isMissing: boolean }

/** The headers of the blob, again after each change by anybody. */
function useHead({ area, container, blob }: BlobProps): readonly [Head | undefined, () => void] {
  const [head, setHead] = useState<Head | undefined>(undefined)
  const load = useMemo(
    () => (): void =>
      void ask(area, { method: 'HEAD', path: [container, blob] }).then(
        ({ headers }) => setHead({ headers }),
        (error: unknown) =>
          setHead({ failure: messageOf(error), isMissing: isCode(error, 'BlobNotFound') }),
      ),
    [],
  )
  useEffect(load, [])
  useChanges(`/${area.account}/${container}/${blob}`, load)
  return [head, load]
}

export function BlobDetails(props: DetailsProps): VNode {
  const { blob, onClose } = props
  const [head, reload] = useHead(props)
  return html`<section class="details card" aria-label=${`Blob ${blob}`}>
    <header class="details-head">
      <h2 class="name">${lastName(blob)}</h2>
      <${Button} icon="close" kind="quiet" label="Close the blob" onClick=${onClose} />
    </header>
    ${head === undefined && html`<${Loading} />`}
    ${head !== undefined && 'failure' in head && html`<${Failure}>${head.failure}<//>${head.isMissing && html`<${DeletedBlob} ...${props} onDone=${reload} />`}`}
    ${head !== undefined && 'headers' in head && html`<${Known} ...${props} headers=${head.headers} reload=${reload} />`}
  </section>`
}

const TABS = [
  { id: 'content', title: 'Content' },
  { id: 'properties', title: 'Properties' },
  { id: 'metadata', title: 'Metadata' },
  { id: 'tags', title: 'Tags' },
  { id: 'past', title: 'Earlier' },
  { id: 'lease', title: 'Lease' },
] as const

type TabId = (typeof TABS)[number]['id']

type KnownProps = DetailsProps & { readonly headers: Headers; reload(): void }

function sizeOf(headers: Headers): number {
  return Number(headers.get('content-length'))
}

function Known(props: KnownProps): VNode {
  const { area, container, blob, headers, reload } = props
  const [tab, setTab] = useState<TabId>('content')
  const etag = headers.get('etag') ?? ''
  const type = headers.get('x-lazuli-content-type') ?? ''
  const panels: Readonly<Record<TabId, () => unknown>> = {
    content: () =>
      html`<${Preview}
        key=${etag}
        area=${area}
        request=${{ path: [container, blob] }}
        name=${blob}
        type=${type}
        sizeBytes=${sizeOf(headers)}
      />`,
    properties: () => html`<${Properties} headers=${headers} />`,
    metadata: () => html`<${Metadata} key=${etag} ...${props} />`,
    tags: () => html`<${TagsPanel} key=${etag} ...${props} />`,
    past: () => html`<${PastPanel} key=${etag} ...${props} />`,
    lease: () =>
      html`<${LeasePanel}
        area=${area}
        path=${[container, blob]}
        headers=${headers}
        reload=${reload}
      />`,
  }
  return html`
    <p class="muted facts-line">
      ${bytes(sizeOf(headers))} · ${type || 'no type'} · ${when(headers.get('last-modified'))}
      ${headers.get('x-ms-lease-state') === 'leased' && html` <${Badge} tone="info">leased<//>`}
    </p>
    <${Actions} ...${props} />
    <${Tabs} label="Parts of the blob" tabs=${TABS} selected=${tab} onSelect=${setTab}
      >${panels[tab]()}<//
    >
  `
}

function Actions(props: KnownProps): VNode {
  const { area, container, blob, endpoint, headers, retention, reload } = props
  const [dialog, setDialog] = useState<'sas' | 'delete' | undefined>(undefined)
  const path = [container, blob]
  const close = (): void => setDialog(undefined)
  const url = reachable(`${endpoint}/${area.account}/${pathOf(path)}`)
  const remove = async (): Promise<void> => {
    // Only the state that is shown here: somebody else may have written meanwhile.
    const condition = { 'If-Match': headers.get('etag') ?? '*', 'x-ms-delete-snapshots': 'include' }
    await ask(area, { method: 'DELETE', path, headers: condition })
    const undelete = (): Promise<unknown> =>
      ask(area, { method: 'PUT', path, query: { comp: 'undelete' } }).then(reload)
    if (retention?.isOn === true) offerUndo(`Deleted ${blob}`, undelete)
    else offerUndo(`Deleted ${blob}`)
    reload()
  }
  const snapshot = async (): Promise<void> => {
    await ask(area, { method: 'PUT', path, query: { comp: 'snapshot' } })
    reload()
  }
  return html`<div class="actions">
      <${ActionButton} icon="download" run=${() => download(area, { path }, blob)}>Download<//>
      <${CopyButton} text=${url} label="Copy the URL" kind="plain">URL<//>
      <${Button} icon="key" onClick=${() => setDialog('sas')}>SAS<//>
      <${ActionButton} icon="plus" done="A snapshot was made" run=${snapshot}>Snapshot<//>
      <${Button} icon="trash" kind="danger" onClick=${() => setDialog('delete')}>Delete<//>
    </div>
    ${dialog === 'sas' && html`<${SasDialog} area=${area} path=${path.join('/')} onClose=${close} />`}
    ${
      dialog === 'delete' &&
      html`<${FormDialog}
        title="Delete the blob?"
        action="Delete"
        onClose=${close}
        isDanger=${true}
        run=${remove}
      >
        <p><strong class="name">${blob}</strong> and its snapshots will be deleted.</p>
        <p>
          ${retention?.isOn === true ? `Soft delete is on: it can be restored for ${retention.days} days.` : 'Soft delete is off: this can’t be undone.'}
        </p>
      <//>`
    }`
}

/** Of the answer, not of the blob, or shown elsewhere. */
const NOT_PROPERTIES =
  /^x-ms-(meta-|request-id|client-request-id|version$)|^(date|server|connection|keep-alive|cache-control|content-(disposition|security-policy|type|range|length)|x-content-type-options|cross-origin-.*|accept-ranges|vary)$/

function Properties({ headers }: { readonly headers: Headers }): VNode {
  const own = [...headers].filter(([name]) => !NOT_PROPERTIES.test(name))
  const facts = own.map(
    ([name, value]) => [name.replace(/^x-(ms|lazuli)-/, ''), html`<code>${value}</code>`] as const,
  )
  return html`<${FactList}
    facts=${[['content-length', html`<code>${sizeOf(headers)}</code>`], ...facts]}
  />`
}

function Metadata({ area, container, blob, headers, reload }: KnownProps): VNode {
  const save = async (metadata: Readonly<Record<string, string>>): Promise<void> => {
    const condition = { 'If-Match': headers.get('etag') ?? '*' }
    const path = [container, blob]
    await ask(area, {
      method: 'PUT',
      path,
      query: { comp: 'metadata' },
      headers: { ...condition, ...metadataHeaders(metadata) },
    })
    reload()
  }
  return html`<${PairsForm} label="Metadata" known=${metadataOf(headers)} save=${save} />`
}
