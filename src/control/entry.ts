// One entry of the journal, as it is kept and as people and programs see it. What is kept is what the request already has in
// memory; texts are made when an entry is read.
import type { IncomingHttpHeaders } from 'node:http'
import { entityETagAt } from '../storage/table/entity.ts'
import { etagOf, timestampOf } from '../storage/shared/etag.ts'
import { leaseState, type LeaseState } from '../storage/shared/lease.ts'
import { clientName, type ClientSource } from './client.ts'
import { decodeKey, type KeyPart } from '../kv/key.ts'
import type { Note, ObjectKind, ObjectState } from './object.ts'
import type { ControlledService } from './point.ts'

/** The head of a request, as it was sent. */
export type Head = {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
}

export type NewEntry = {
  /** By the server's clock. */
  readonly startedMs: number
  readonly durationMs: number
  readonly service: ControlledService
  readonly operation: string
  readonly writes: boolean
  readonly account: string
  /** The names of the resource below the account. */
  readonly path: readonly string[]
  /** The text from which `decodeHead` makes the rest: one string costs less to keep than a map of headers. */
  readonly headText: string
  readonly address: string
  readonly connection: number
  readonly identity: string
  readonly requestId: string
  /** Of HTTP, or the name of an NTSTATUS. 0: the client got no answer. */
  readonly status: number | string
  readonly errorCode: string | undefined
  readonly notes: readonly Note[]
}

/** As kept. A class, so that the head of the request is decoded only if somebody looks at it. */
export class Entry implements NewEntry {
  readonly id: number
  /** The entry of the write, lease, open or get that stood in its way. */
  readonly lostTo: number | undefined
  readonly startedMs: NewEntry['startedMs']
  readonly durationMs: NewEntry['durationMs']
  readonly service: NewEntry['service']
  readonly operation: NewEntry['operation']
  readonly writes: NewEntry['writes']
  readonly account: NewEntry['account']
  readonly path: NewEntry['path']
  readonly headText: NewEntry['headText']
  readonly address: NewEntry['address']
  readonly connection: NewEntry['connection']
  readonly identity: NewEntry['identity']
  readonly requestId: NewEntry['requestId']
  readonly status: NewEntry['status']
  readonly errorCode: NewEntry['errorCode']
  readonly notes: NewEntry['notes']
  readonly #decodeHead: (text: string) => Head

  constructor(
    id: number,
    lostTo: number | undefined,
    entry: NewEntry,
    decodeHead: (text: string) => Head,
  ) {
    this.id = id
    this.lostTo = lostTo
    this.startedMs = entry.startedMs
    this.durationMs = entry.durationMs
    this.service = entry.service
    this.operation = entry.operation
    this.writes = entry.writes
    this.account = entry.account
    this.path = entry.path
    this.headText = entry.headText
    this.address = entry.address
    this.connection = entry.connection
    this.identity = entry.identity
    this.requestId = entry.requestId
    this.status = entry.status
    this.errorCode = entry.errorCode
    this.notes = entry.notes
    this.#decodeHead = decodeHead
  }

  get headers(): IncomingHttpHeaders {
    return this.#decoded.headers
  }

  /** As the client sent it, with the query. */
  get target(): string {
    return this.#decoded.target
  }

  get #decoded(): Head {
    if (lastDecoded?.entry !== this) {
      lastDecoded = { entry: this, head: this.#decodeHead(this.headText) }
    }
    return lastDecoded.head
  }
}

/** Only one: whoever looks through all entries must not fill the memory with their heads. */
let lastDecoded: { readonly entry: Entry; readonly head: Head } | undefined

/** As people and programs see it. */
export type JournalEntry = {
  readonly id: number
  readonly time: string
  readonly durationMs: number
  readonly service: ControlledService
  readonly operation: string
  /** `/account/container/blob`. */
  readonly resource: string
  readonly client: {
    /** What counts as one client (the setting `clientBy`). */
    readonly name: string
    readonly address: string
    readonly userAgent?: string
    readonly requestId?: string
    readonly identity: string
  }
  readonly requestId: string
  readonly status: number | string
  readonly errorCode?: string
  readonly isConflict: boolean
  /** Headers and query fields that made the request depend on a state. */
  readonly conditions?: Readonly<Record<string, string>>
  readonly etagBefore?: string
  readonly etagAfter?: string
  readonly leaseBefore?: LeaseState
  readonly leaseAfter?: LeaseState
  /** The condition or lock that refused it. */
  readonly refusedBy?: string
  readonly lostTo?: number
  /** What is known of that entry, as long as it is in memory. */
  readonly winner?: JournalWinner
  /** The objects of a batch, a query or several messages. */
  readonly objects?: readonly JournalObject[]
}

export type JournalWinner = {
  readonly client: string
  readonly operation: string
  /** From its end to the end of the entry that lost to it. */
  readonly beforeMs: number
}

export type JournalObject = {
  readonly kind: ObjectKind
  readonly name: string
  readonly etagBefore?: string
  readonly etagAfter?: string
  readonly isWritten: boolean
}

const CONDITIONS = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'x-ms-if-tags',
  'x-ms-lease-id',
  'x-ms-blob-condition-appendpos',
  'x-ms-blob-condition-maxsize',
  'x-ms-if-sequence-number-le',
  'x-ms-if-sequence-number-lt',
  'x-ms-if-sequence-number-eq',
  'x-ms-source-if-match',
  'x-ms-source-if-none-match',
  'x-ms-source-if-modified-since',
  'x-ms-source-if-unmodified-since',
] as const

export function conditionsOf({
  headers,
  target,
}: Pick<Entry, 'headers' | 'target'>): Readonly<Record<string, string>> | undefined {
  let found: Record<string, string> | undefined
  for (const name of CONDITIONS) {
    const value = headers[name]
    if (value === undefined) continue
    found ??= {}
    found[name] = String(value)
  }
  const receipt = /[?&]popreceipt=([^&]*)/i.exec(target)?.[1]
  if (receipt !== undefined) found = { ...found, popreceipt: receipt }
  return found
}

/** The object that the request is about: what it wrote last, or the most specific one that it read. */
export function mainNote({
  notes,
  path,
  service,
}: Pick<Entry, 'notes' | 'path' | 'service'>): Note | undefined {
  const wanted = service === 'smb' ? 'file' : MAIN[service][Math.min(path.length, 2)]
  const of = notes.filter(({ kind }) => kind === wanted)
  return of.find(({ isWritten }) => isWritten) ?? of.at(-1)
}

/** By the length of the path: the service, a container, an object. */
const MAIN: Readonly<
  Record<Exclude<ControlledService, 'smb'>, readonly (ObjectKind | undefined)[]>
> = {
  blob: [undefined, 'container', 'blob'],
  dfs: [undefined, 'container', 'blob'],
  queue: [undefined, 'queue', 'message'],
  table: [undefined, 'entity', 'entity'],
  file: [undefined, 'share', 'file'],
}

export function stateETag(kind: ObjectKind, state: ObjectState): string {
  if (kind === 'entity') return entityETagAt(timestampOf(state.version))
  return kind === 'message' ? `receipt ${state.version}` : etagOf(state.version)
}

/** Kinds whose versions clients see. */
const HAS_ETAG: ReadonlySet<ObjectKind> = new Set([
  'blob',
  'container',
  'entity',
  'message',
  'file',
  'share',
])

function etagsOf({
  kind,
  before,
  after,
  isWritten,
}: Note): Pick<JournalEntry, 'etagBefore' | 'etagAfter'> {
  if (!HAS_ETAG.has(kind)) return {}
  return {
    ...(before !== undefined && { etagBefore: stateETag(kind, before) }),
    ...(isWritten && after !== undefined && { etagAfter: stateETag(kind, after) }),
  }
}

export function resourceOf({ account, path }: Pick<Entry, 'account' | 'path'>): string {
  return account === '' ? '/' : `/${[account, ...path].join('/')}`
}

const CONFLICT_CODES: ReadonlySet<string> = new Set(['PopReceiptMismatch', 'MessageNotFound'])

/** Refused because of what somebody else did. */
export function isConflict({ status, errorCode }: Pick<Entry, 'status' | 'errorCode'>): boolean {
  if (errorCode === undefined) return false
  return (
    status === 409 ||
    status === 412 ||
    CONFLICT_CODES.has(errorCode) ||
    SMB_CONFLICTS.has(errorCode)
  )
}

const SMB_CONFLICTS: ReadonlySet<string> = new Set([
  'SHARING_VIOLATION',
  'FILE_LOCK_CONFLICT',
  'LOCK_NOT_GRANTED',
  'DELETE_PENDING',
  'OBJECT_NAME_COLLISION',
])

/** Which condition or lock refused the request. */
export function refusedBy(entry: Entry): string | undefined {
  const { errorCode: code } = entry
  if (code === undefined || !isConflict(entry)) return undefined
  if (code.startsWith('Lease')) return 'lease'
  if (/sharing_?violation/i.test(code)) return 'share mode'
  if (/lock/i.test(code)) return 'byte-range lock'
  if (CONFLICT_CODES.has(code)) return 'pop receipt'
  if (/AlreadyExists|COLLISION/.test(code)) return 'existence'
  if (/delete_?pending/i.test(code)) return 'pending delete'
  if (/Condition/.test(code)) return unmetCondition(entry)
  return undefined
}

/** Those of the sent conditions that the state does not meet; all of them if that can't be told. */
function unmetCondition(entry: Entry): string {
  const sent = conditionsOf(entry) ?? {}
  const names = Object.keys(sent).filter((name) => name !== 'x-ms-lease-id')
  const note = mainNote(entry)
  const etag = note?.before === undefined ? undefined : stateETag(note.kind, note.before)
  const unmet = names.filter((name) => {
    const value = sent[name]
    if (name === 'if-match') return etag === undefined || (value !== '*' && value !== etag)
    if (name === 'if-none-match') return etag !== undefined && (value === '*' || value === etag)
    return false
  })
  return (unmet.length > 0 ? unmet : names).map(headerName).join(', ')
}

function headerName(name: string): string {
  return name.startsWith('if-')
    ? name.replaceAll(
        /(^|-)([a-z])/g,
        (_, dash: string, letter: string) => dash + letter.toUpperCase(),
      )
    : name
}

export function viewOf(entry: Entry, by: readonly ClientSource[]): JournalEntry {
  const { headers, address, identity, notes, lostTo, errorCode } = entry
  const note = mainNote(entry)
  const [userAgent, clientRequestId] = [headers['user-agent'], headers['x-ms-client-request-id']]
  const conditions = conditionsOf(entry)
  const refused = refusedBy(entry)
  const objects = notes.filter(({ kind }) => kind === note?.kind)
  return {
    id: entry.id,
    time: new Date(entry.startedMs).toISOString(),
    durationMs: Math.round(entry.durationMs * 1_000) / 1_000,
    service: entry.service,
    operation: entry.operation,
    resource: resourceOf(entry),
    client: {
      name: clientName(entry, by),
      address,
      ...(userAgent !== undefined && { userAgent }),
      ...(typeof clientRequestId === 'string' && { requestId: clientRequestId }),
      identity,
    },
    requestId: entry.requestId,
    status: entry.status,
    ...(errorCode !== undefined && { errorCode }),
    isConflict: isConflict(entry),
    ...(conditions !== undefined && { conditions }),
    ...(note !== undefined && etagsOf(note)),
    ...(note !== undefined && leasesOf(note, entry)),
    ...(refused !== undefined && { refusedBy: refused }),
    ...(lostTo !== undefined && { lostTo }),
    ...(objects.length > 1 && { objects: objects.map(objectOf) }),
  }
}

function leasesOf({ before, after, isWritten }: Note, { startedMs }: Entry) {
  const was = before?.lease && leaseState(before.lease, startedMs)
  const is = isWritten ? leaseState(after?.lease, startedMs) : undefined
  return {
    ...(was !== undefined && { leaseBefore: was }),
    ...(is !== undefined && (was !== undefined || is !== 'available') && { leaseAfter: is }),
  }
}

function objectOf(note: Note): JournalObject {
  return { kind: note.kind, name: objectName(note), isWritten: note.isWritten, ...etagsOf(note) }
}

/** The names in the key behind its kind and the id of the container. */
export function objectName({ key }: Pick<Note, 'key'>): string {
  const parts: readonly KeyPart[] = decodeKey(Buffer.from(key, 'latin1'))
  return parts.slice(2).join('/')
}
