// The blobs of a container: folders by the slashes in names, upload by drag and drop, and the blob that is selected.
import { messageOf } from '../../page/api/call.ts'
import { html, useEffect, useMemo, useState, type VNode } from '../../page/library.ts'
import { changeQuery, linkTo, place } from '../../page/router.ts'
import { Badge } from '../../page/ui/badge.ts'
import { Button } from '../../page/ui/button.ts'
import { Check, Field } from '../../page/ui/field.ts'
import { bytes, plural } from '../../page/ui/format.ts'
import { Icon } from '../../page/ui/icon.ts'
import { Empty } from '../../page/ui/states.ts'
import { Table, type Column } from '../../page/ui/table.ts'
import { toast } from '../../page/ui/toast.ts'
import { PagedView, useChanges, usePaged } from '../paged.ts'
import { when } from '../resources.ts'
import { SasDialog } from '../sas-dialog.ts'
import type { Area } from '../storage.ts'
import { DropZone, UploadButton, Uploads } from '../upload.ts'
import { BlobDetails } from './blob-details.ts'
import { listBlobs, retentionOf, type BlobRow, type Retention } from './blob-list.ts'
import { ContainerDialog } from './container-dialog.ts'
import { uploadBlob } from './upload-blob.ts'

type BlobsProps = { readonly area: Area; readonly name: string; readonly endpoint: string }

export function BlobsView({ area, name: container, endpoint }: BlobsProps): VNode {
  const { path, query } = place.value
  const folder = query.get('prefix') ?? ''
  const selected = query.get('item') ?? undefined
  const [typed, setTyped] = useState({ folder, text: '' })
  // Each folder begins without a filter.
  const filter = typed.folder === folder ? typed.text : ''
  const [isDeletedShown, setDeletedShown] = useState(false)
  const [dialog, setDialog] = useState<'sas' | 'container' | undefined>(undefined)
  const [retention, setRetention] = useState<Retention | undefined>(undefined)
  const prefix = folder + filter
  const paged = usePaged<BlobRow>(`${prefix}\n${isDeletedShown}`, (marker, signal) =>
    listBlobs(area, container, { prefix, isDeletedShown }, marker, signal),
  )
  useChanges(`/${area.account}/${container}`, paged.changed)
  useEffect(
    () =>
      void retentionOf(area).then(setRetention, (error: unknown) =>
        toast(messageOf(error), 'error'),
      ),
    [],
  )
  const columns = useMemo(() => columnsOf(path, folder, selected), [path, folder, selected])
  const upload = (files: readonly File[]): void => {
    for (const file of files) uploadBlob(area, container, folder + file.name, file)
  }
  const close = (): void => setDialog(undefined)
  return html`
    <div class=${selected === undefined ? 'browse' : 'browse with-details'}>
      <${DropZone} onFiles=${upload}>
        <div class="browse-tools">
          <${Field}
            label="Names that begin with"
            hasHiddenLabel=${true}
            type="search"
            placeholder="Names that begin with …"
            value=${filter}
            onChange=${(text: string) => setTyped({ folder, text })}
          />
          <${Check} label="Deleted, too" isChecked=${isDeletedShown} onChange=${setDeletedShown} />
          <div class="actions">
            <${Button} icon="refresh" label="Load again" onClick=${() => paged.reload()} />
            <${Button} icon="key" label="Share the container" onClick=${() => setDialog('sas')} />
            <${Button}
              icon="edit"
              label="Properties of the container"
              onClick=${() => setDialog('container')}
            />
            <${UploadButton} onFiles=${upload} />
          </div>
        </div>
        <${Uploads} under=${`${area.account}/blob/${container}/`} />
        <${PagedView}
          paged=${paged}
          empty=${html`<${Empty}
            icon="file"
            title=${filter === '' ? 'There is nothing here yet' : 'No name begins so'}
          >
            ${filter === '' && 'Drop files here, or upload them with any client.'}
          <//>`}
        >
          ${(rows: readonly BlobRow[]) => html`
            <${Table}
              label=${`Blobs of ${container}`}
              rows=${rows}
              columns=${columns}
              keyOf=${keyOf}
              classOf=${(row: BlobRow) => (row.name === selected ? 'selected' : row.isDeleted ? 'gone' : '')}
              onEnd=${paged.more}
              height="62vh"
            />
            <p class="muted count-line" aria-live="polite">
              ${plural(rows.length, 'name')}${paged.state.value.hasMore ? ', and more as you scroll' : ''}
            </p>
          `}
        <//>
      <//>
      ${selected !== undefined && html`<${BlobDetails} key=${selected} area=${area} container=${container} blob=${selected} endpoint=${endpoint} retention=${retention} onClose=${() => changeQuery({ item: undefined })} />`}
    </div>
    ${dialog === 'sas' && html`<${SasDialog} area=${area} path=${container} onClose=${close} />`}
    ${dialog === 'container' && html`<${ContainerDialog} area=${area} container=${container} onClose=${close} />`}
  `
}

/** A name may be both a folder and a blob, and be deleted more than once. */
function keyOf({ name, isFolder, isDeleted, modified }: BlobRow): string {
  return `${isFolder ? '/' : ''}${isDeleted ? modified : ''}${name}`
}

function columnsOf(path: string, folder: string, selected: string | undefined): readonly Column<BlobRow>[] {
  const facts: readonly Column<BlobRow>[] = [
    { title: 'Size', width: '7em', isNumber: true, isExtra: selected !== undefined, cell: (row) => (row.isFolder ? '' : bytes(row.sizeBytes)) },
    { title: 'Type', width: 'minmax(6em, 1fr)', isExtra: true, cell: ({ type }) => type },
    { title: 'Changed', width: '12em', isExtra: true, cell: ({ modified }) => when(modified) },
  ]
  return [
    { title: 'Name', width: 'minmax(8em, 3fr)', cell: (row) => {
      const to = row.isFolder ? { prefix: row.name } : { prefix: folder, item: row.name }
      return html`<a class="item" href=${linkTo(path, to)}>
        <${Icon} name=${row.isFolder ? 'folder' : 'file'} />${row.name.slice(folder.length)}
        ${row.isDeleted && html` <${Badge} tone="warn">deleted<//>`}
        ${row.lease === 'leased' && html` <${Badge} tone="info">leased<//>`}
      </a>`
    } },
    ...(selected === undefined ? facts : facts.slice(0, 1)),
  ]
} // prettier-ignore
