// The lists of the page Held: a table for each kind, with what ends it.
import type {
  HeldLease,
  HeldLock,
  HeldOpen,
  Holder,
  InvisibleMessage,
  PendingCopy,
  UncommittedBlocks,
} from '../../../../control/api.ts'
import { html, useState, type VNode } from '../../library.ts'
import { serverNowMs } from '../../live/clock.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/badge.ts'
import { ActionButton, Button, CopyButton } from '../../ui/button.ts'
import { Countdown } from '../../ui/countdown.ts'
import { ConfirmDialog } from '../../ui/dialog.ts'
import { bytes, count } from '../../ui/format.ts'
import { ResourceLink } from '../../ui/resource.ts'
import { Empty } from '../../ui/states.ts'
import { Table, type Column } from '../../ui/table.ts'

type ListProps<Row> = {
  readonly rows: readonly Row[]
  readonly end: (row: Row) => Promise<unknown>
}

/** Of a lease that ends. */
const LEASE_SECONDS_MAX = 60

const HEIGHT = 'calc(100vh - 15rem)'

function resourceColumn<Row extends { readonly resource: string }>(): Column<Row> {
  return {
    title: 'Resource', width: 'minmax(6rem, 2.4fr)', isPath: true,
    cell: ({ resource }) => html`<${ResourceLink} resource=${resource} />`,
  } // prettier-ignore
}

function clientColumn<Row extends Holder>(): Column<Row> {
  return {
    title: 'Client', width: 'minmax(4rem, 1fr)', isExtra: true,
    cell: ({ client, address, entry }) => {
      const name = client ?? address ?? 'unknown'
      return entry === undefined ? html`<span title=${name}>${name}</span>` : html`<a href=${linkTo(`journal/${entry}`)} title=${`Request ${entry} of ${name}`}>${name}</a>`
    },
  } // prettier-ignore
}

function sinceColumn<Row extends Holder>(): Column<Row> {
  return { title: 'Since', width: '6rem', isExtra: true, cell: ({ since }) => since === undefined ? '' : html`<time datetime=${since}>${since.slice(11, 19)}</time>` } // prettier-ignore
}

export function Leases({ rows, end }: ListProps<HeldLease>): VNode {
  if (rows.length === 0)
    return html`<${Empty} icon="held" title="No leases"
      >A client that acquires a lease on a container, blob, share or file appears here.<//
    >`
  const columns: readonly Column<HeldLease>[] = [
    resourceColumn(),
    { title: 'Kind', width: '5.5rem', isExtra: true, cell: ({ kind }) => kind },
    clientColumn(), sinceColumn(),
    { title: 'State', width: '5rem', isExtra: true, cell: ({ state }) => html`<${Badge} tone=${state === 'leased' ? 'info' : 'warn'}>${state}<//>` },
    { title: 'Left', width: 'minmax(4rem, 9rem)', cell: ({ secondsLeft }) => html`<${Countdown} secondsLeft=${secondsLeft} ofSeconds=${LEASE_SECONDS_MAX} />` },
    { title: 'Id', width: '2.5rem', isExtra: true, cell: ({ leaseId }) => html`<${CopyButton} text=${leaseId} label=${`Copy the lease id ${leaseId}`} />` },
    { title: '', width: '5rem', cell: (lease) => html`<${ActionButton} done="The lease is broken" run=${() => end(lease)} label=${`Break the lease on ${lease.resource}`}>Break<//>` },
  ] // prettier-ignore
  return html`<${Table}
    label="Leases"
    rows=${rows}
    columns=${columns}
    height=${HEIGHT}
    keyOf=${({ kind, resource }: HeldLease) => kind + resource}
  />`
}

export function Messages({ rows, end }: ListProps<InvisibleMessage>): VNode {
  if (rows.length === 0)
    return html`<${Empty} icon="held" title="No invisible messages"
      >A message that a receiver has got, and not deleted, appears here until it is visible
      again.<//
    >`
  const columns: readonly Column<InvisibleMessage>[] = [
    { title: 'Queue', width: 'minmax(6rem, 1.4fr)', cell: ({ account, queue }) => html`<a href=${linkTo('timeline', { resource: `/${account}/${queue}` })}>${queue}</a>` },
    { title: 'Message', width: 'minmax(6rem, 2fr)', isExtra: true, cell: ({ messageId }) => html`<code title=${messageId}>${messageId}</code>` },
    clientColumn(), sinceColumn(),
    { title: 'Got', width: '4rem', isNumber: true, isExtra: true, cell: ({ dequeueCount }) => dequeueCount === 0 ? 'delayed' : `${dequeueCount}×` },
    { title: 'Left', width: 'minmax(4rem, 9rem)', cell: ({ secondsLeft, since, visibleAt }) => html`<${Countdown} secondsLeft=${secondsLeft} ofSeconds=${since && (Date.parse(visibleAt) - Date.parse(since)) / 1_000} />` },
    { title: 'Receipt', width: '4rem', isExtra: true, cell: ({ popReceipt, messageId }) => html`<${CopyButton} text=${popReceipt} label=${`Copy the pop receipt of ${messageId}`} />` },
    { title: '', width: '8rem', cell: (message) => html`<${ActionButton} done="The message is visible" run=${() => end(message)} label=${`Make visible: message ${message.messageId}`}>Make visible<//>` },
  ] // prettier-ignore
  return html`<${Table}
    label="Invisible messages"
    rows=${rows}
    columns=${columns}
    height=${HEIGHT}
    keyOf=${({ messageId }: InvisibleMessage) => messageId}
  />`
}

export function Opens({ rows, end }: ListProps<HeldOpen>): VNode {
  const [closing, setClosing] = useState<HeldOpen | undefined>(undefined)
  if (rows.length === 0)
    return html`<${Empty} icon="held" title="Nothing is open over SMB"
      >Files and directories that SMB clients open appear here, with what they let others do.<//
    >`
  const columns: readonly Column<HeldOpen>[] = [
    resourceColumn(), clientColumn(),
    { title: 'User', width: 'minmax(4rem, 0.8fr)', isExtra: true, cell: ({ user }) => html`<span title=${user}>${user}</span>` },
    { title: 'May', width: 'minmax(5rem, 1fr)', cell: ({ access }) => access.join(', ') || 'look' },
    { title: 'Lets others', width: 'minmax(5rem, 1fr)', isExtra: true, cell: ({ shares }) => shares.length === 0 ? html`<${Badge} tone="warn">nothing<//>` : shares.join(', ') },
    { title: 'Caches', width: 'minmax(4rem, 1.3fr)', isExtra: true, cell: ({ caches }) => caches.join(', ') || html`<span class="muted">nothing</span>` },
    { title: 'State', width: '5.5rem', isExtra: true, cell: ({ isDeletePending, isPersistent }) => isDeletePending ? html`<${Badge} tone="bad">deletes<//>` : isPersistent ? html`<${Badge}>persistent<//>` : '' },
    { title: '', width: '5rem', cell: (open) => html`<${Button} onClick=${() => setClosing(open)} label=${`Close ${open.resource}`}>Close<//>` },
  ] // prettier-ignore
  return html`<${Table}
      label="Open over SMB"
      rows=${rows}
      columns=${columns}
      height=${HEIGHT}
      keyOf=${({ id }: HeldOpen) => id}
    />
    ${closing && html`<${CloseDialog} open=${closing} end=${end} onClose=${() => setClosing(undefined)} />`}`
}

type CloseProps = {
  readonly open: HeldOpen
  readonly end: (open: HeldOpen) => Promise<unknown>
  readonly onClose: () => void
}

function CloseDialog({ open, end, onClose }: CloseProps): VNode {
  const run = (): Promise<unknown> => end(open).then(onClose)
  return html`<${ConfirmDialog}
    title=${`Close ${open.resource}?`}
    onClose=${onClose}
    action=${html`<${ActionButton} kind="danger" done="Closed" run=${run}>Close it<//>`}
  >
    <p>What its client has cached and not written is lost.</p>
  <//>`
}

type BareProps<Row> = { readonly rows: readonly Row[] }

export function Locks({ rows }: BareProps<HeldLock>): VNode {
  if (rows.length === 0)
    return html`<${Empty} icon="held" title="No locked ranges"
      >Ranges of files that SMB clients lock appear here.<//
    >`
  const columns: readonly Column<HeldLock>[] = [
    resourceColumn(), clientColumn(),
    { title: 'From', width: 'minmax(4rem, 1fr)', isNumber: true, cell: ({ offset }) => offset },
    { title: 'Length', width: 'minmax(4rem, 1fr)', isNumber: true, cell: ({ length }) => length },
    { title: 'Kind', width: '6rem', isExtra: true, cell: ({ isExclusive }) => isExclusive ? html`<${Badge} tone="warn">exclusive<//>` : html`<${Badge}>shared<//>` },
  ] // prettier-ignore
  return html`<${Table}
    label="Locked byte ranges"
    rows=${rows}
    columns=${columns}
    height=${HEIGHT}
    keyOf=${({ openId, offset, length }: HeldLock) => `${openId} ${offset} ${length}`}
  />`
}

export function Copies({ rows }: BareProps<PendingCopy>): VNode {
  if (rows.length === 0)
    return html`<${Empty} icon="copy" title="No pending copies"
      >Copies that go on after their answer appear here.<//
    >`
  const columns: readonly Column<PendingCopy>[] = [
    resourceColumn(), clientColumn(),
    { title: 'From', width: 'minmax(6rem, 2fr)', isExtra: true, cell: ({ source }) => html`<span title=${source}>${source}</span>` },
    { title: 'Done', width: 'minmax(8rem, 1.2fr)', cell: progress },
  ] // prettier-ignore
  return html`<${Table}
    label="Pending copies"
    rows=${rows}
    columns=${columns}
    height=${HEIGHT}
    keyOf=${({ copyId }: PendingCopy) => copyId}
  />`
}

function progress({ copiedBytes, totalBytes, resource }: PendingCopy): unknown {
  if (totalBytes === undefined) return bytes(copiedBytes)
  return html`<span class="progress"
    ><progress
      value=${copiedBytes}
      max=${Math.max(1, totalBytes)}
      aria-label=${`Copied to ${resource}`}
    ></progress
    >${bytes(copiedBytes)} of ${bytes(totalBytes)}</span
  >`
}

export function Blocks({ rows }: BareProps<UncommittedBlocks>): VNode {
  if (rows.length === 0)
    return html`<${Empty} icon="file" title="No uncommitted blocks"
      >Blocks that were put, and not yet committed by Put Block List, appear here.<//
    >`
  const columns: readonly Column<UncommittedBlocks>[] = [
    resourceColumn(), clientColumn(), sinceColumn(),
    { title: 'Blocks', width: '5rem', isNumber: true, cell: ({ blockCount }) => count(blockCount) },
    { title: 'Size', width: '6rem', isNumber: true, isExtra: true, cell: (row) => row.bytes === undefined ? '' : bytes(row.bytes) },
    { title: 'Discarded in', width: '7rem', cell: ({ expiresAt }) => html`<${Until} time=${expiresAt} />` },
  ] // prettier-ignore
  return html`<${Table}
    label="Uncommitted blocks"
    rows=${rows}
    columns=${columns}
    height=${HEIGHT}
    keyOf=${({ resource }: UncommittedBlocks) => resource}
  />`
}

function Until({ time }: { readonly time: string }): VNode | undefined {
  const nowMs = serverNowMs.value
  return nowMs === undefined
    ? undefined
    : html`<${Countdown} secondsLeft=${(Date.parse(time) - nowMs) / 1_000} />`
}
