// What is known of a container or share: properties, metadata and, of a container, its lease.
import { messageOf } from '../../page/api/call.ts'
import { html, useEffect, useState, type VNode } from '../../page/library.ts'
import { Dialog } from '../../page/ui/dialog.ts'
import { bytes } from '../../page/ui/format.ts'
import { Failure, Loading } from '../../page/ui/states.ts'
import { FactList, PairsForm } from '../parts.ts'
import { when } from '../resources.ts'
import { ask, metadataHeaders, metadataOf, type Area } from '../storage.ts'
import { LeasePanel } from './lease-panel.ts'

type ContainerDialogProps = { readonly area: Area; readonly container: string; onClose(): void }

export function ContainerDialog({ area, container, onClose }: ContainerDialogProps): VNode {
  const [headers, setHeaders] = useState<Headers | undefined>(undefined)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const restype = area.service === 'blob' ? 'container' : 'share'
  const load = (): Promise<void> =>
    ask(area, { path: [container], query: { restype } }).then(
      (answer) => setHeaders(answer.headers),
      (error: unknown) => setFailure(messageOf(error)),
    )
  useEffect(() => void load(), [])
  const save = async (metadata: Readonly<Record<string, string>>): Promise<void> => {
    await ask(area, {
      method: 'PUT',
      path: [container],
      query: { restype, comp: 'metadata' },
      headers: metadataHeaders(metadata),
    })
    await load()
  }
  const quota = headers?.get('x-ms-share-quota')
  return html`<${Dialog} title=${container} onClose=${onClose}>
    ${failure !== undefined && html`<${Failure}>${failure}<//>`}
    ${headers === undefined && failure === undefined && html`<${Loading} />`}
    ${
      headers !== undefined &&
      html`<${FactList}
          facts=${[
            ['ETag', html`<code>${headers.get('etag')}</code>`],
            ['Changed', when(headers.get('last-modified'))],
            ['Public access', headers.get('x-ms-blob-public-access')],
            ['Quota', quota && bytes(Number(quota) * 2 ** 30)],
            ['Immutability', headers.get('x-ms-has-immutability-policy')],
          ]}
        />
        <h3>Metadata</h3>
        <${PairsForm}
          key=${headers.get('etag')}
          label="Metadata"
          known=${metadataOf(headers)}
          save=${save}
        />
        ${
          area.service === 'blob' &&
          html`<h3>Lease</h3>
            <${LeasePanel}
              area=${area}
              path=${[container]}
              headers=${headers}
              reload=${() => void load()}
            />`
        }`
    }
  <//>`
}
