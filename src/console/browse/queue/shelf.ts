// The messages that somebody has got and not deleted: how long nobody else sees them, and with which receipt they may be changed.
import type { InvisibleMessage } from '../../../control/api.ts'
import { post } from '../../page/api/call.ts'
import { html, useEffect, useMemo, useRef, type VNode } from '../../page/library.ts'
import { useAnswer } from '../../page/live/query.ts'
import { ActionButton, CopyButton } from '../../page/ui/button.ts'
import { Countdown } from '../../page/ui/countdown.ts'
import { Empty, shown } from '../../page/ui/states.ts'
import { Table, type Column } from '../../page/ui/table.ts'
import { useChanges } from '../paged.ts'
import { ask } from '../storage.ts'
import type { QueueProps } from './message.ts'

const ASK_MS = 2_000
const COUNT_MAX = 10_000

type Answered = { readonly messages: readonly InvisibleMessage[] }

type ShelfProps = QueueProps & {
  /** A message may have become visible. */
  onFewer(): void
}

export function Shelf({ area, name, onFewer }: ShelfProps): VNode {
  const { answer, refresh } = useAnswer<Answered>('messages/invisible', {
    everyMs: ASK_MS,
    query: { countMax: COUNT_MAX },
  })
  const columns = useMemo(() => columnsOf({ area, name }, refresh), [refresh])
  useChanges(`/${area.account}/${name}`, refresh)
  const own = answer.value.value?.messages.filter(
    ({ account, queue }) => account === area.account && queue === name,
  )
  const ids = own?.map(({ messageId, dequeueCount }) => `${messageId} ${dequeueCount}`)
  const known = useRef<readonly string[]>([])
  useEffect(() => {
    if (ids !== undefined && known.current.some((id) => !ids.includes(id))) onFewer()
    known.current = ids ?? known.current
  }, [ids?.join()])
  return html`<section aria-label="Invisible messages">
    <h2>Invisible</h2>
    ${shown(answer.value, () =>
      own === undefined || own.length === 0
        ? html`<${Empty} icon="held" title="Nobody has got a message" />`
        : html`<${Table}
            label="Invisible messages"
            rows=${own}
            columns=${columns}
            keyOf=${(row: InvisibleMessage) => row.messageId}
            height="40vh"
          />`,
    )}
  </section>`
}

function columnsOf({ area, name }: QueueProps, refresh: () => Promise<void>): readonly Column<InvisibleMessage>[] {
  const show = async ({ messageId }: InvisibleMessage): Promise<void> => {
    await post('messages/visible', { account: area.account, queue: name, messageId })
    await refresh()
  }
  const remove = async ({ messageId, popReceipt }: InvisibleMessage): Promise<void> => {
    await ask(area, { method: 'DELETE', path: [name, 'messages', messageId], query: { popreceipt: popReceipt } })
    await refresh()
  }
  return [
    { title: 'Message', width: 'minmax(7em, 2fr)', cell: ({ messageId }) => html`<code>${messageId}</code>` },
    { title: 'Visible in', width: '6em', cell: ({ secondsLeft }) => html`<${Countdown} secondsLeft=${secondsLeft} />` },
    { title: 'Got by', width: 'minmax(6em, 1fr)', isExtra: true, cell: ({ client, dequeueCount }) => `${client ?? 'somebody'}, ${dequeueCount} ×` },
    { title: 'Pop receipt', width: 'minmax(7em, 1fr)', isExtra: true, cell: ({ popReceipt }) => html`<span class="copied"><code>${popReceipt}</code><${CopyButton} text=${popReceipt} label="Copy the pop receipt" /></span>` },
    { title: '', width: '4.6em', cell: (row) => html`
      <${ActionButton} icon="back" kind="quiet" label="Make it visible" run=${() => show(row)} />
      <${ActionButton} icon="trash" kind="quiet" label="Delete the message" run=${() => remove(row)} />` },
  ]
} // prettier-ignore
