// The snapshots and versions of a blob: look at one, save it, bring it back, delete it.
import { messageOf } from '../../page/api/call.ts'
import { html, useEffect, useState, type VNode } from '../../page/library.ts'
import { Badge } from '../../page/ui/badge.ts'
import { ActionButton, Button } from '../../page/ui/button.ts'
import { Dialog } from '../../page/ui/dialog.ts'
import { bytes } from '../../page/ui/format.ts'
import { Empty, Failure, Loading } from '../../page/ui/states.ts'
import { download } from '../download.ts'
import { reachable } from '../parts.ts'
import { Preview } from '../preview.ts'
import { when } from '../resources.ts'
import { ask, pathOf } from '../storage.ts'
import { listPast, type BlobProps, type PastBlob } from './blob-list.ts'

type PastProps = BlobProps & {
  readonly headers: Headers
  readonly endpoint: string
  reload(): void
}

export function PastPanel(props: PastProps): VNode {
  const { area, container, blob, headers } = props
  const [past, setPast] = useState<readonly PastBlob[] | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const [seen, setSeen] = useState<PastBlob | undefined>(undefined)
  const load = (): Promise<void> =>
    listPast(area, container, blob).then(
      (all) =>
        setPast(
          all.filter((each) => each.snapshot !== '' || (each.versionId !== '' && !each.isCurrent)),
        ),
      (error: unknown) => setFailure(messageOf(error)),
    )
  useEffect(() => void load(), [])
  if (failure !== undefined) return html`<${Failure}>${failure}<//>`
  if (past === undefined) return html`<${Loading} />`
  if (past.length === 0)
    return html`<${Empty} icon="clock" title="There is no snapshot and no earlier version" />`
  const type = headers.get('x-lazuli-content-type') ?? ''
  return html`<ul class="plain past">
      ${past.map((each) => html`<${PastRow} key=${each.snapshot || each.versionId} ...${props} past=${each} onSee=${setSeen} onDone=${load} />`)}
    </ul>
    ${
      seen !== undefined &&
      html`<${Dialog}
        title=${seen.snapshot || seen.versionId}
        isWide=${true}
        onClose=${() => setSeen(undefined)}
      >
        <${Preview}
          area=${area}
          request=${{ path: [container, blob], query: queryOf(seen) }}
          name=${blob}
          type=${type}
          sizeBytes=${seen.sizeBytes}
        />
      <//>`
    }`
}

function queryOf({ snapshot, versionId }: PastBlob) {
  return snapshot === '' ? { versionid: versionId } : { snapshot }
}

type RowProps = PastProps & {
  readonly past: PastBlob
  onSee(past: PastBlob): void
  onDone(): Promise<void>
}

function PastRow({
  area,
  container,
  blob,
  endpoint,
  headers,
  past,
  onSee,
  onDone,
  reload,
}: RowProps): VNode {
  const { snapshot, versionId, isDeleted, sizeBytes, modified } = past
  const request = { path: [container, blob], query: queryOf(past) }
  const promote = async (): Promise<void> => {
    const query =
      snapshot === ''
        ? `versionid=${encodeURIComponent(versionId)}`
        : `snapshot=${encodeURIComponent(snapshot)}`
    const source = `${reachable(endpoint)}${area.account}/${pathOf(request.path)}?${query}`
    const condition = { 'If-Match': headers.get('etag') ?? '*' }
    await ask(area, {
      method: 'PUT',
      path: request.path,
      headers: { ...condition, 'x-ms-copy-source': source },
    })
    reload()
  }
  const remove = (): Promise<unknown> => ask(area, { ...request, method: 'DELETE' }).then(onDone)
  return html`<li class="past-row">
    <div>
      <${Badge}>${snapshot === '' ? 'version' : 'snapshot'}<//>
      ${isDeleted && html`<${Badge} tone="warn">deleted<//>`}
      <code>${snapshot || versionId}</code>
      <div class="muted">${bytes(sizeBytes)} · ${when(modified)}</div>
    </div>
    ${
      !isDeleted &&
      html`<div class="actions">
        <${Button} onClick=${() => onSee(past)}>View<//>
        <${ActionButton}
          icon="download"
          label="Download"
          kind="quiet"
          run=${() => download(area, request, blob)}
        />
        <${ActionButton}
          icon="back"
          label="Make this the content of the blob"
          kind="quiet"
          done="Brought back"
          run=${promote}
        />
        <${ActionButton} icon="trash" label="Delete" kind="quiet" done="Deleted" run=${remove} />
      </div>`
    }
  </li>`
}
