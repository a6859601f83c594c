// One entry of the journal, as it is kept and as people and programs see it (entry-view.ts makes the one from the other). What
// is kept is what the request already has in memory; texts are made when an entry is read.
import type { IncomingHttpHeaders } from 'node:http'
import { entityETagAt } from '../storage/table/entity.ts'
import { etagOf, timestampOf } from '../storage/shared/etag.ts'
import type { LeaseState } from '../storage/shared/lease.ts'
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

  get method(): string {
    return this.#decoded.method
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

export function resourceOf({ account, path }: Pick<Entry, 'account' | 'path'>): string {
  return account === '' ? '/' : `/${[account, ...path].join('/')}`
}

/** The names in the key behind its kind and the id of the container. */
export function objectName({ key }: Pick<Note, 'key'>): string {
  const parts: readonly KeyPart[] = decodeKey(Buffer.from(key, 'latin1'))
  return parts.slice(2).join('/')
}
