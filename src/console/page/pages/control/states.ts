// Emptying the store, filling it from a folder, and writing it into one.
import type { ResetResult } from '../../../../control/api.ts'
import { post } from '../../api/call.ts'
import { html, useState, type VNode } from '../../library.ts'
import { ActionButton, Button } from '../../ui/button.ts'
import { ConfirmDialog } from '../../ui/dialog.ts'
import { Field } from '../../ui/field.ts'
import { plural } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'

export function States(): VNode {
  return html`<div class="control"><${Reset} /><${Folders} /></div>`
}

const SERVICES = [{ value: '', title: 'all services' }, 'blob', 'queue', 'table', 'file']

function Reset(): VNode {
  const [account, setAccount] = useState('')
  const [service, setService] = useState('')
  const [container, setContainer] = useState('')
  const [isAsking, setAsking] = useState(false)
  const scope = Object.fromEntries(Object.entries({ account, service, container }).filter(([, value]) => value !== ''))
  const what = Object.keys(scope).length === 0 ? 'the whole store' : Object.values(scope).join(', ')
  const reset = async (): Promise<void> => {
    const { removedCount } = await post<ResetResult>('reset', scope)
    setAsking(false)
    toast(`${plural(removedCount, 'container, queue, table or share', 'containers, queues, tables and shares')} removed`)
  }
  return html`<section class="card" aria-labelledby="reset">
    <h2 id="reset">Reset</h2>
    <p class="muted">Removes containers, queues, tables and shares with all that they have, whatever leases and policies say.</p>
    <div class="form-row">
      <${Field} label="Account" value=${account} onChange=${setAccount} placeholder="all" />
      <${Field} label="Service" value=${service} onChange=${setService} choices=${SERVICES} />
      <${Field} label="Container" value=${container} onChange=${setContainer} placeholder="all" />
      <div><${Button} kind="danger" icon="trash" onClick=${() => setAsking(true)}>Reset<//></div>
    </div>
    ${isAsking && html`<${ConfirmDialog} title=${`Empty ${what}?`} onClose=${() => setAsking(false)}
      action=${html`<${ActionButton} kind="danger" run=${reset}>Empty it<//>`}>
      <p>This can't be undone. Save a snapshot first to come back.</p>
    <//>`}
  </section>`
} // prettier-ignore

function Folders(): VNode {
  const [folder, setFolder] = useState('')
  const send = (path: string) => () => post(path, { folder })
  return html`<section class="card" aria-labelledby="seed">
    <h2 id="seed">Seed and export</h2>
    <p class="muted">
      A folder on the machine of the server. What the store has already stays, or is overwritten.
    </p>
    <div class="form-row">
      <${Field} label="Folder" value=${folder} onChange=${setFolder} placeholder="/path/to/seed" />
      <div class="actions">
        <${ActionButton}
          icon="upload"
          isDisabled=${folder === ''}
          done="The store is filled"
          run=${send('seed')}
          >Seed<//
        >
        <${ActionButton}
          icon="download"
          isDisabled=${folder === ''}
          done="The folder is written"
          run=${send('export')}
          >Export<//
        >
      </div>
    </div>
  </section>`
}
