// A queue: the messages that anybody would get next, those that somebody has got, and what can be done with them.
import { html, useMemo, useState, type VNode } from '../../page/library.ts'
import { Button } from '../../page/ui/button.ts'
import { Field } from '../../page/ui/field.ts'
import { Empty } from '../../page/ui/states.ts'
import { Table, type Column } from '../../page/ui/table.ts'
import { toast } from '../../page/ui/toast.ts'
import { PagedView, useChanges, usePaged, type PageOf } from '../paged.ts'
import { FormDialog } from '../parts.ts'
import { when } from '../resources.ts'
import { SasDialog } from '../sas-dialog.ts'
import { ask } from '../storage.ts'
import { askXml, childrenOf, escaped } from '../xml.ts'
import { messageOfXml, type Message, type QueueProps } from './message.ts'
import { MessageDialog } from './message-dialog.ts'
import { Shelf } from './shelf.ts'

const PEEKED_MAX = 32
const NO_END = '9999'

async function peek({ area, name }: QueueProps, signal: AbortSignal): Promise<PageOf<Message>> {
  const query = { peekonly: 'true', numofmessages: PEEKED_MAX }
  const list = await askXml(area, { path: [name, 'messages'], query, signal })
  return { rows: childrenOf(list, 'QueueMessage').map(messageOfXml), next: undefined }
}

type DialogName = 'put' | 'get' | 'clear' | 'sas'

export function QueueView({ area, name }: QueueProps): VNode {
  const [dialog, setDialog] = useState<DialogName | Message | undefined>(undefined)
  const paged = usePaged<Message>(name, (_, signal) => peek({ area, name }, signal))
  useChanges(`/${area.account}/${name}`, paged.changed)
  const columns = useMemo(() => columnsOf(setDialog), [])
  const close = (): void => setDialog(undefined)
  const clear = (): Promise<unknown> => ask(area, { method: 'DELETE', path: [name, 'messages'] })
  return html`
    <div class="browse-tools">
      <div class="actions">
        <${Button} icon="refresh" label="Load again" onClick=${() => paged.reload()} />
        <${Button} icon="key" label="Share the queue" onClick=${() => setDialog('sas')} />
        <${Button} icon="trash" kind="danger" onClick=${() => setDialog('clear')}>Clear<//>
        <${Button} icon="download" onClick=${() => setDialog('get')}>Get messages<//>
        <${Button} icon="plus" kind="primary" onClick=${() => setDialog('put')}>Put a message<//>
      </div>
    </div>
    <section aria-label="Visible messages">
      <h2>Visible</h2>
      <${PagedView}
        paged=${paged}
        empty=${html`<${Empty} icon="done" title="No message is visible">Put one, or look below for those that somebody has got.<//>`}
      >
        ${(rows: readonly Message[]) =>
          html`<${Table}
              label="Visible messages"
              rows=${rows}
              columns=${columns}
              keyOf=${({ id }: Message) => id}
              height="40vh"
            />
            <p class="muted count-line">
              ${rows.length === PEEKED_MAX ? `The next ${PEEKED_MAX} messages; there may be more.` : ''}
            </p>`}
      <//>
    </section>
    <${Shelf} area=${area} name=${name} onFewer=${paged.changed} />
    ${dialog === 'put' && html`<${PutDialog} area=${area} name=${name} onClose=${close} />`}
    ${dialog === 'get' && html`<${GetDialog} area=${area} name=${name} onClose=${close} />`}
    ${dialog === 'sas' && html`<${SasDialog} area=${area} path=${name} onClose=${close} />`}
    ${
      dialog === 'clear' &&
      html`<${FormDialog}
        title="Clear the queue?"
        action="Clear"
        onClose=${close}
        isDanger=${true}
        run=${clear}
        ><p>
          All messages of <strong class="name">${name}</strong>, also those that somebody has got,
          will be deleted.
        </p><//
      >`
    }
    ${typeof dialog === 'object' && html`<${MessageDialog} message=${dialog} onClose=${close} />`}
  `
}

function columnsOf(open: (message: Message) => void): readonly Column<Message>[] {
  return [
    { title: 'Message', width: 'minmax(8em, 3fr)', cell: (row) => html`<button type="button" class="text-button" onClick=${() => open(row)}>${row.text === '' ? '(empty)' : row.text}</button>` },
    { title: 'Got', width: '4em', isNumber: true, cell: ({ dequeueCount }) => `${dequeueCount} ×` },
    { title: 'Put', width: '12em', isExtra: true, cell: ({ inserted }) => when(inserted) },
    { title: 'Expires', width: '12em', isExtra: true, cell: ({ expires }) => (expires.includes(NO_END) ? 'never' : when(expires)) },
  ]
} // prettier-ignore

type DialogProps = QueueProps & { onClose(): void }

function PutDialog({ area, name, onClose }: DialogProps): VNode {
  const [text, setText] = useState('')
  const [visibility, setVisibility] = useState('0')
  const [timeToLive, setTimeToLive] = useState('604800')
  const put = (): Promise<unknown> => {
    const query = { visibilitytimeout: visibility, messagettl: timeToLive }
    const body = `<QueueMessage><MessageText>${escaped(text)}</MessageText></QueueMessage>`
    return ask(area, {
      method: 'POST',
      path: [name, 'messages'],
      query,
      headers: { 'Content-Type': 'application/xml' },
      body,
    })
  }
  return html`<${FormDialog} title="Put a message" action="Put" run=${put} onClose=${onClose}>
    <div class="field">
      <label for="message-text">Text</label>
      <textarea
        id="message-text"
        rows="5"
        value=${text}
        onInput=${(event: Event) => setText((event.target as HTMLTextAreaElement).value)}
      ></textarea>
    </div>
    <div class="form-row">
      <${Field}
        label="Visible after (seconds)"
        type="number"
        value=${visibility}
        onChange=${setVisibility}
      />
      <${Field}
        label="Expires after (seconds)"
        type="number"
        value=${timeToLive}
        onChange=${setTimeToLive}
        hint="-1: never"
      />
    </div>
  <//>`
}

function GetDialog({ area, name, onClose }: DialogProps): VNode {
  const [count, setCount] = useState('1')
  const [visibility, setVisibility] = useState('30')
  const get = async (): Promise<void> => {
    const query = { numofmessages: count, visibilitytimeout: visibility }
    const list = await askXml(area, { path: [name, 'messages'], query })
    const got = childrenOf(list, 'QueueMessage').length
    toast(got === 0 ? 'No message was visible' : `Got ${got}: see the invisible ones`)
  }
  return html`<${FormDialog} title="Get messages" action="Get" run=${get} onClose=${onClose}>
    <p>Nobody else gets them until their time has run out, or you make them visible again.</p>
    <div class="form-row">
      <${Field} label="At most" type="number" value=${count} onChange=${setCount} />
      <${Field}
        label="Invisible for (seconds)"
        type="number"
        value=${visibility}
        onChange=${setVisibility}
      />
    </div>
  <//>`
}
