// A share as a tree of directories: upload, rename, delete, and its snapshots.
import { html, useEffect, useMemo, useState, type VNode } from '../../page/library.ts'
import { changeQuery, linkTo, place } from '../../page/router.ts'
import { ActionButton, Button } from '../../page/ui/button.ts'
import { Field } from '../../page/ui/field.ts'
import { bytes, plural } from '../../page/ui/format.ts'
import { Icon } from '../../page/ui/icon.ts'
import { Empty } from '../../page/ui/states.ts'
import { Table, type Column } from '../../page/ui/table.ts'
import { ContainerDialog } from '../blob/container-dialog.ts'
import { PagedView, useChanges, usePaged } from '../paged.ts'
import { FormDialog } from '../parts.ts'
import { when } from '../resources.ts'
import { SasDialog } from '../sas-dialog.ts'
import { ask, type Area } from '../storage.ts'
import { DropZone, UploadButton, Uploads } from '../upload.ts'
import { FileDetails } from './file-details.ts'
import { listFiles, listSnapshots, makeDirectory, type FileRow, type Item } from './share-list.ts'
import { uploadFile } from './upload-file.ts'

type ShareProps = { readonly area: Area; readonly name: string; readonly endpoint: string }

type DialogName = 'sas' | 'share' | 'directory'

export function ShareView({ area, name: share, endpoint }: ShareProps): VNode {
  const { path, query } = place.value
  const folder = query.get('prefix') ?? ''
  const snapshot = query.get('snapshot') ?? undefined
  const selected = selectedOf(query)
  const of = { area, share, snapshot }
  const [typed, setTyped] = useState({ folder, text: '' })
  // Each directory begins without a filter.
  const filter = typed.folder === folder ? typed.text : ''
  const [dialog, setDialog] = useState<DialogName | undefined>(undefined)
  const paged = usePaged<FileRow>(`${folder}\n${filter}\n${snapshot}`, (marker, signal) =>
    listFiles(of, folder.replace(/\/$/, ''), filter, marker, signal),
  )
  useChanges(`/${area.account}/${share}`, paged.changed)
  const columns = useMemo(
    () => columnsOf(path, folder, snapshot, selected !== undefined),
    [path, folder, snapshot, selected !== undefined],
  )
  const upload = (files: readonly File[]): void => {
    for (const file of files) uploadFile(area, share, folder, file)
  }
  const close = (): void => setDialog(undefined)
  return html`
    <div class=${selected === undefined ? 'browse' : 'browse with-details'}>
      <${DropZone} onFiles=${snapshot === undefined ? upload : () => undefined}>
        <div class="browse-tools">
          <${Field}
            label="Names that begin with"
            hasHiddenLabel=${true}
            type="search"
            placeholder="Names that begin with …"
            value=${filter}
            onChange=${(text: string) => setTyped({ folder, text })}
          />
          <${Snapshots} area=${area} share=${share} snapshot=${snapshot} />
          <div class="actions">
            <${Button} icon="refresh" label="Load again" onClick=${() => paged.reload()} />
            <${Button} icon="key" label="Share by a signature" onClick=${() => setDialog('sas')} />
            <${Button}
              icon="edit"
              label="Properties of the share"
              onClick=${() => setDialog('share')}
            />
            ${snapshot === undefined && html`<${Button} icon="plus" onClick=${() => setDialog('directory')}>Directory<//><${UploadButton} onFiles=${upload} />`}
          </div>
        </div>
        <${Uploads} under=${`${area.account}/file/${share}/`} />
        <${PagedView}
          paged=${paged}
          empty=${html`<${Empty} icon="file" title=${filter === '' ? 'The directory is empty' : 'No name begins so'}>${filter === '' && snapshot === undefined && 'Drop files here, or write them over SMB.'}<//>`}
        >
          ${(rows: readonly FileRow[]) => html`
            <${Table}
              label=${`Files of ${share}`}
              rows=${rows}
              columns=${columns}
              keyOf=${(row: FileRow) => row.name}
              classOf=${(row: FileRow) => (folder + row.name === selected?.path ? 'selected' : '')}
              onEnd=${paged.more}
              height="62vh"
            />
            <p class="muted count-line" aria-live="polite">
              ${plural(rows.length, 'name')}${paged.state.value.hasMore ? ', and more as you scroll' : ''}
            </p>
          `}
        <//>
      <//>
      ${selected !== undefined && html`<${FileDetails} key=${`${selected.path}${snapshot}`} of=${of} item=${selected} endpoint=${endpoint} onClose=${() => changeQuery({ item: undefined, kind: undefined })} />`}
    </div>
    ${dialog === 'sas' && html`<${SasDialog} area=${area} path=${share} onClose=${close} />`}
    ${dialog === 'share' && html`<${ContainerDialog} area=${area} container=${share} onClose=${close} />`}
    ${dialog === 'directory' && html`<${DirectoryDialog} make=${(name: string) => makeDirectory(of, folder + name)} onClose=${close} />`}
  `
}

function selectedOf(query: URLSearchParams): Item | undefined {
  const path = query.get('item')
  return path === null ? undefined : { path, isDirectory: query.get('kind') === 'directory' }
}

function columnsOf(path: string, folder: string, snapshot: string | undefined, isSelected: boolean): readonly Column<FileRow>[] {
  const link = (row: FileRow): string =>
    row.isDirectory
      ? linkTo(path, { prefix: `${folder}${row.name}/`, snapshot })
      : linkTo(path, { prefix: folder, item: folder + row.name, snapshot })
  return [
    { title: 'Name', width: 'minmax(8em, 3fr)', cell: (row) => html`<a class="item" href=${link(row)}><${Icon} name=${row.isDirectory ? 'folder' : 'file'} />${row.name}</a>` },
    { title: 'Size', width: '7em', isNumber: true, isExtra: isSelected, cell: (row) => (row.isDirectory ? '' : bytes(row.sizeBytes)) },
    ...(isSelected ? [] : [
      { title: 'Attributes', width: 'minmax(6em, 1fr)', isExtra: true, cell: ({ attributes }: FileRow) => attributes },
      { title: 'Written', width: '12em', isExtra: true, cell: ({ modified }: FileRow) => when(modified) },
    ]),
    { title: '', width: '2.2em', cell: (row) => row.isDirectory && html`<a class="more" href=${linkTo(path, { prefix: folder, item: folder + row.name, kind: 'directory', snapshot })} aria-label=${`Details of ${row.name}`}><${Icon} name="edit" /></a>` },
  ]
} // prettier-ignore

type SnapshotsProps = {
  readonly area: Area
  readonly share: string
  readonly snapshot: string | undefined
}

function Snapshots({ area, share, snapshot }: SnapshotsProps): VNode {
  const [snapshots, setSnapshots] = useState<readonly string[]>([])
  const load = (): Promise<void> =>
    listSnapshots(area, share).then(setSnapshots, () => setSnapshots([]))
  useEffect(() => void load(), [])
  const make = async (): Promise<void> => {
    await ask(area, { method: 'PUT', path: [share], query: { restype: 'share', comp: 'snapshot' } })
    await load()
  }
  const choices = [
    { value: '', title: 'Now' },
    ...snapshots.map((each) => ({
      value: each,
      title: `Snapshot ${each.slice(0, 19).replace('T', ' ')}`,
    })),
  ]
  const choose = (chosen: string): void =>
    changeQuery({ snapshot: chosen, item: undefined, kind: undefined })
  return html`<div class="snapshots">
    ${snapshots.length > 0 && html`<${Field} label="State" hasHiddenLabel=${true} value=${snapshot ?? ''} choices=${choices} onChange=${choose} />`}
    ${snapshot === undefined && html`<${ActionButton} icon="clock" done="A snapshot was made" run=${make}>Snapshot<//>`}
  </div>`
}

function DirectoryDialog({
  make,
  onClose,
}: {
  make(name: string): Promise<void>
  onClose(): void
}): VNode {
  const [name, setName] = useState('')
  return html`<${FormDialog}
    title="Create a directory"
    action="Create"
    run=${() => make(name)}
    onClose=${onClose}
  >
    <${Field} label="Name" value=${name} onChange=${setName} isRequired=${true} />
  <//>`
}
