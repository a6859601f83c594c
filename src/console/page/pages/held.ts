// What clients hold now, with the time that it has left, and a way to end each of it.
import type {
  HeldLease,
  HeldLock,
  HeldOpen,
  InvisibleMessage,
  PendingCopy,
  UncommittedBlocks,
} from '../../../control/api.ts'
import { post, remove, segment } from '../api/call.ts'
import { html, type VNode } from '../library.ts'
import { useAnswer, type LiveAnswer } from '../live/query.ts'
import { changeQuery, place } from '../router.ts'
import { Failure, Loading } from '../ui/states.ts'
import { Tabs } from '../ui/tabs.ts'
import { Blocks, Copies, Leases, Locks, Messages, Opens } from './held/lists.ts'

const IDS = ['leases', 'messages', 'opens', 'locks', 'copies', 'blocks'] as const
type Id = (typeof IDS)[number]

const TITLES: Readonly<Record<Id, string>> = {
  leases: 'Leases', messages: 'Invisible messages', opens: 'Open over SMB', locks: 'Byte ranges', copies: 'Pending copies',
  blocks: 'Uncommitted blocks',
} // prettier-ignore

const SHOWN_MS = 1_000
/** The others are only counted. */
const COUNTED_MS = 5_000

export function HeldPage(): VNode {
  const asked = place.value.query.get('show')
  const selected = IDS.find((id) => id === asked) ?? 'leases'
  const every = (id: Id) => ({ everyMs: id === selected ? SHOWN_MS : COUNTED_MS })
  const leases = useAnswer<{ readonly leases: readonly HeldLease[] }>('leases', every('leases'))
  const messages = useAnswer<{ readonly messages: readonly InvisibleMessage[] }>(
    'messages/invisible',
    every('messages'),
  )
  const opens = useAnswer<{ readonly opens: readonly HeldOpen[] }>('opens', every('opens'))
  const locks = useAnswer<{ readonly locks: readonly HeldLock[] }>('locks', every('locks'))
  const copies = useAnswer<{ readonly copies: readonly PendingCopy[] }>('copies', every('copies'))
  const blocks = useAnswer<{ readonly uncommitted: readonly UncommittedBlocks[] }>(
    'uncommitted',
    every('blocks'),
  )
  const known = {
    leases: leases.answer.value.value?.leases,
    messages: messages.answer.value.value?.messages,
    opens: opens.answer.value.value?.opens,
    locks: locks.answer.value.value?.locks,
    copies: copies.answer.value.value?.copies,
    blocks: blocks.answer.value.value?.uncommitted,
  }
  const live: Readonly<Record<Id, LiveAnswer<unknown>>> = {
    leases,
    messages,
    opens,
    locks,
    copies,
    blocks,
  }
  const then = (work: Promise<unknown>): Promise<unknown> =>
    work.then(() => live[selected].refresh())
  const views: Readonly<Record<Id, () => VNode>> = {
    leases: () =>
      html`<${Leases}
        rows=${known.leases}
        end=${({ resource, kind }: HeldLease) => then(post('leases/break', { resource, kind }))}
      />`,
    messages: () =>
      html`<${Messages}
        rows=${known.messages}
        end=${({ account, queue, messageId }: InvisibleMessage) => then(post('messages/visible', { account, queue, messageId }))}
      />`,
    opens: () =>
      html`<${Opens}
        rows=${known.opens}
        end=${({ id }: HeldOpen) => then(remove(`opens/${segment(id)}`))}
      />`,
    locks: () => html`<${Locks} rows=${known.locks} />`,
    copies: () => html`<${Copies} rows=${known.copies} />`,
    blocks: () => html`<${Blocks} rows=${known.blocks} />`,
  }
  const { failure } = live[selected].answer.value
  return html`
    <h1>Held</h1>
    <${Tabs}
      label="What is held"
      tabs=${IDS.map((id) => ({ id, title: TITLES[id], count: known[id]?.length }))}
      selected=${selected}
      onSelect=${(id: Id) => changeQuery({ show: id === 'leases' ? undefined : id })}
    >
      ${failure !== undefined && html`<${Failure}>${failure}<//>`}
      ${known[selected] === undefined ? failure === undefined && html`<${Loading} />` : views[selected]()}
    <//>
  `
}
