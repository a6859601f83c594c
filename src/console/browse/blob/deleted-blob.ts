// A blob that is not there: it may have been deleted, and still be kept.
import { html, useEffect, useState, type VNode } from '../../page/library.ts'
import { ActionButton } from '../../page/ui/button.ts'
import { ask } from '../storage.ts'
import { listPast, type BlobProps, type PastBlob, type Retention } from './blob-list.ts'

type DeletedProps = BlobProps & { readonly retention: Retention | undefined; onDone(): void }

export function DeletedBlob({ area, container, blob, retention, onDone }: DeletedProps): VNode {
  const [past, setPast] = useState<readonly PastBlob[]>([])
  useEffect(() => void listPast(area, container, blob).then(setPast, () => setPast([])), [])
  const kept = past.find(({ isDeleted }) => isDeleted)
  const undelete = async (): Promise<void> => {
    await ask(area, { method: 'PUT', path: [container, blob], query: { comp: 'undelete' } })
    onDone()
  }
  if (kept === undefined)
    return html`<p>
      ${retention?.isOn === false ? 'Soft delete is off, so nothing of it is kept.' : 'Nothing of it is kept.'}
    </p>`
  return html`<p>It was deleted, and is kept for ${kept.daysLeft} more days.</p>
    <${ActionButton} icon="back" kind="primary" done="Restored" run=${undelete}>Restore<//>`
}
