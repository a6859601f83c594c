// A request of the journal as a call that can be made again. Bodies are not in the journal; others take their place. What
// the server had chosen (ETags, receipts) is taken from the answers of the calls before.
import { mainNote, stateETag } from '../../entry.ts'
import { ControlError } from '../../control-error.ts'
import { headerOfEntry, queryField, sentLeaseId, sentRange, type ClientAct } from '../act.ts'
import { quoted, type Call } from './code.ts'
import { entityBody, MESSAGE, textOf } from './set-up.ts'

export type Replay = {
  /** What its client must have sent before. */
  readonly before: readonly Call[]
  readonly call: Call
}

export type Story = {
  readonly acts: readonly ClientAct[]
  /** By the names in the journal. */
  readonly names: ReadonlyMap<string, string>
  /** Of the content of objects, so that all ranges are within. */
  readonly lengthBytes: number
}

const NOT_AGAIN = /From URL$|^Copy|Batch|Transaction|Query Blob|Tags$|^Rename|^Incremental|^Abort/

export function replayOf(story: Story, at: number): Replay {
  const act = story.acts[at]
  if (act === undefined) throw new Error('no such act')
  const { service, operation } = act.entry
  const isSnapshot = ['snapshot', 'sharesnapshot', 'versionid'].some((name) => queryField(act.entry, name) !== undefined) // prettier-ignore
  if (service === 'smb' || NOT_AGAIN.test(operation) || isSnapshot)
    throw new ControlError(
      `this race can't be made a test: the journal does not have what a ${operation} needs`,
    )
  const call: Call = {
    client: story.names.get(act.client) ?? act.client,
    service,
    method: act.entry.method,
    target: targetOf(story, at, act),
    headers: headersOf(story, at, act),
    body: bodyOf(story, act),
  }
  const blocks = operation === 'Put Block List' ? [blockCall(story, call)] : []
  return { before: [...leaseCalls(story, at, call), ...blocks], call }
}

/** A lease that was acquired by a request that is not part of the race. */
function leaseCalls({ acts }: Story, at: number, call: Call): readonly Call[] {
  const id = acts[at] && sentLeaseId(acts[at].entry)
  const isKnown = acts.slice(0, at).some(({ entry }) => mainNote(entry)?.after?.lease?.id === id)
  if (id === undefined || isKnown) return []
  const target = call.target.replace(/(\?[^']*)?'$/, "?comp=lease'")
  const headers = [
    ['x-ms-lease-action', quoted('acquire')],
    ['x-ms-lease-duration', quoted('-1')],
    ['x-ms-proposed-lease-id', quoted(id)],
  ] as const
  return [{ ...call, method: 'PUT', target, headers, body: undefined }]
}

/** What a SAS adds to a query, and what is not needed. */
const DROPPED: ReadonlySet<string> = new Set([
  'sv', 'ss', 'srt', 'sp', 'se', 'st', 'spr', 'sip', 'sig', 'sr', 'si', 'ses', 'sdd', 'tn', 'spk', 'srk', 'epk', 'erk',
  'skoid', 'sktid', 'skt', 'ske', 'sks', 'skv', 'saoid', 'suoid', 'scid', 'rscc', 'rscd', 'rsce', 'rscl', 'rsct', 'timeout',
]) // prettier-ignore

function targetOf(story: Story, at: number, { entry, client }: ClientAct): string {
  const { target, account } = entry
  const [path = '', ...rest] = target.split('?')
  const own = path.startsWith(`/${account}/`) ? path.slice(account.length + 1) : path
  const fields = rest
    .join('?')
    .split('&')
    .filter((field) => field !== '' && !DROPPED.has((field.split('=', 1)[0] ?? '').toLowerCase()))
  const text = fields.length === 0 ? own : `${own}?${fields.join('&')}`
  if (queryField(entry, 'popreceipt') === undefined) return quoted(text)
  const got = story.acts.findLastIndex(
    (other, index) => index < at && other.client === client && /^(Get Messages|Update Message)$/.test(other.entry.operation), // prettier-ignore
  )
  if (got < 0) throw unknownState(entry.operation)
  const others = fields.filter((field) => !/^popreceipt=/i.test(field))
  const more = others.length === 0 ? '' : ` + ${quoted(`&${others.join('&')}`)}`
  const folder = own.slice(0, own.lastIndexOf('/') + 1)
  return `${quoted(folder)} + messageIn(${resultName(got)})${more}`
}

/** The variable with the answer of a call. */
export function resultName(at: number): string {
  return `answer${at + 1}`
}

function unknownState(operation: string): ControlError {
  return new ControlError(
    `this race can't be made a test: its ${operation} depends on an earlier request that is not part of it`,
  )
}

const SENT_AGAIN =
  /^(x-ms-(blob-type|blob-content-.*|blob-cache-control|blob-sequence-number|sequence-number-action|meta-.*|lease-.*|proposed-lease-id|range|page-write|write|type|content-length|content-type|file-.*|delete-snapshots|access-tier)|range|content-type|accept|prefer|if-match|if-none-match|x-http-method)$/

function headersOf(story: Story, at: number, { entry }: ClientAct): Call['headers'] {
  const headers: (readonly [string, string])[] = []
  for (const name of Object.keys(entry.headers)) {
    if (!SENT_AGAIN.test(name)) continue
    const value = headerOfEntry(entry, name) ?? ''
    const isETag = (name === 'if-match' || name === 'if-none-match') && value !== '*'
    headers.push([name, isETag ? etagOf(story, at, value, entry.operation) : quoted(value)])
  }
  // The lease has the id that the requests behind it send.
  const lease = mainNote(entry)?.after?.lease
  const isAcquire = headerOfEntry(entry, 'x-ms-lease-action')?.toLowerCase() === 'acquire'
  if (
    isAcquire &&
    lease !== undefined &&
    !headers.some(([name]) => name === 'x-ms-proposed-lease-id')
  )
    headers.push(['x-ms-proposed-lease-id', quoted(lease.id)])
  return headers
}

/** The answer before that had this ETag. */
function etagOf({ acts }: Story, at: number, etag: string, operation: string): string {
  const from = acts.findLastIndex(({ entry }, index) => {
    const note = mainNote(entry)
    const state = note?.isWritten === true ? note.after : note?.before
    return index < at && note !== undefined && state !== undefined && stateETag(note.kind, state) === etag // prettier-ignore
  })
  if (from < 0) throw unknownState(operation)
  return `${resultName(from)}.etag`
}

const ENTITY = /^(Insert|Update|Merge).*Entity$/
const MESSAGES = /^(Put|Update) Message$/
const RANGES = /^Put (Page|Range)$/
const BLOCKS = '<BlockList><Latest>QQ==</Latest></BlockList>'

function bodyOf({ acts, names, lengthBytes }: Story, act: ClientAct): string | undefined {
  const { entry, client } = act
  const { operation } = entry
  const name = names.get(client) ?? client
  if (operation === 'Put Blob') return textOf(name, lengthBytes)
  if (operation === 'Append Block') return quoted(`by ${name}\n`)
  if (operation === 'Put Block List') return quoted(BLOCKS)
  if (MESSAGES.test(operation)) return quoted(MESSAGE)
  if (RANGES.test(operation)) {
    const { first, last } = sentRange(entry) ?? { first: 0, last: 511 }
    return `${quoted(name.charAt(0) || 'x')}.repeat(${last - first + 1})`
  }
  const note = mainNote(entry)
  return ENTITY.test(operation) && note !== undefined ? entityBody(note, acts, name) : undefined
}

/** The one block of a list. */
function blockCall({ lengthBytes }: Story, list: Call): Call {
  const target = list.target.replace(/\?.*$/s, "?comp=block&blockid=QQ%3D%3D'")
  return { ...list, target, headers: [], body: textOf(list.client, lengthBytes) }
}
