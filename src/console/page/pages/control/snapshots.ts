// Saved states of the whole store.
import type { SnapshotState } from '../../../../control/api.ts'
import { post, remove, segment } from '../../api/call.ts'
import { html, useState, type VNode } from '../../library.ts'
import { useAnswer } from '../../live/query.ts'
import { ActionButton, Button } from '../../ui/button.ts'
import { ConfirmDialog } from '../../ui/dialog.ts'
import { Field } from '../../ui/field.ts'
import { dateAndTime, plural } from '../../ui/format.ts'
import { Empty, shown } from '../../ui/states.ts'

const ASK_MS = 5_000

export function Snapshots(): VNode {
  const { answer, refresh } = useAnswer<{ readonly snapshots: readonly SnapshotState[] }>('snapshots', { everyMs: ASK_MS })
  const [name, setName] = useState('')
  const [restoring, setRestoring] = useState<string | undefined>(undefined)
  const save = async (): Promise<void> => {
    await post(`snapshots/${segment(name)}`)
    setName('')
    await refresh()
  }
  const restore = (chosen: string) => post(`snapshots/${segment(chosen)}/restore`).then(() => setRestoring(undefined))
  return html`<section class="card" aria-labelledby="snapshots">
    <h2 id="snapshots">Snapshots of the store</h2>
    ${shown(answer.value, ({ snapshots }) =>
      snapshots.length === 0
        ? html`<${Empty} icon="copy" title="No snapshots">Save the state, and come back to it after each test.<//>`
        : html`<ul class="plain rules">
            ${snapshots.map((each) => html`<li key=${each.name} class="between">
              <span><strong>${each.name}</strong> <span class="muted">${dateAndTime(each.time)}, ${plural(each.recordCount, 'record')}</span></span>
              <span class="actions">
                <${Button} onClick=${() => setRestoring(each.name)} label=${`Restore ${each.name}`}>Restore<//>
                <${ActionButton} icon="trash" kind="quiet" label=${`Delete ${each.name}`} done="Deleted" run=${() => remove(`snapshots/${segment(each.name)}`).then(refresh)} />
              </span>
            </li>`)}
          </ul>`,
    )}
    <div class="form-row">
      <${Field} label="Name" value=${name} onChange=${setName} />
      <div><${ActionButton} icon="plus" isDisabled=${name === ''} done="Saved" run=${save}>Save the state<//></div>
    </div>
    ${restoring !== undefined && html`<${ConfirmDialog} title=${`Restore ${restoring}?`} onClose=${() => setRestoring(undefined)}
      action=${html`<${ActionButton} kind="danger" done="Restored" run=${() => restore(restoring)}>Restore<//>`}>
      <p>What the store has now is lost, and so are the journal and everything that SMB clients have open.</p>
    <//>`}
  </section>`
} // prettier-ignore
