// A kind of object that clients work on: what they may do next, and how that is sent.
import type { Answer, Condition, Operation } from '../history/call.ts'
import type { Random } from './random.ts'

/** `dfs` is Data Lake Storage. */
export type Service = 'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb'

export const SERVICES: readonly Service[] = ['blob', 'queue', 'table', 'file', 'dfs', 'smb']

/** Without credentials; those are the connection's matter. */
export type Request = {
  readonly service: Service
  readonly method: string
  /** Below the account, percent-encoded, with the query: `/box/blob?comp=lease`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

export type Reply = {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** Rejects if there is no answer. */
export type Send = (request: Request) => Promise<Reply>

/** What a client remembers of an object. */
export type Memory = {
  etag?: string
  /** The lease that the client has, as far as it knows. */
  lease?: string
  /** A lease that it had before. */
  oldLease?: string
  offset?: number
  readonly receipts: Receipt[]
  readonly etags: Map<string, string>
}

export type Receipt = { readonly id: string; readonly receipt: string; readonly message: string }

export type Chooser = {
  readonly random: Random
  readonly memory: Memory
  /** A value that nobody has written yet. */
  newValue(lengthBytes?: number): string
}

export type Kind = {
  readonly name: string
  readonly service: Service
  choose(chooser: Chooser): Operation
  /** What follows at once; undefined: nothing. */
  next?(chooser: Chooser, last: Operation, answer: Answer | undefined): Operation | undefined
  /** `name` is that of the object. */
  send(send: Send, place: Place, operation: Operation): Promise<Answer>
  remember?(memory: Memory, operation: Operation, answer: Answer): void
}

export type Place = {
  /** Of the container, the share and the queues of a run; lower-case letters and digits. */
  readonly run: string
  readonly name: string
  /** The URL at which the File service knows itself. */
  readonly endpoint: string
}

export function emptyMemory(): Memory {
  return { receipts: [], etags: new Map() }
}

/** Status and code of an answer. */
export function outcomeOf({ status, headers, body }: Reply): Pick<Answer, 'status' | 'code'> {
  if (status < 400) return { status }
  const named = headers['x-ms-error-code']
  const code = typeof named === 'string' ? named : /"code":"(\w+)"/.exec(body.toString())?.[1]
  return { status, ...(code !== undefined && { code }) }
}

/** With the ETag. */
export function taggedOutcomeOf(reply: Reply): Pick<Answer, 'status' | 'code' | 'etag'> {
  const { etag } = reply.headers
  const outcome = outcomeOf(reply)
  return outcome.status < 300 && typeof etag === 'string' ? { ...outcome, etag } : outcome
}

export function headerOf({ headers }: Reply, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Conditions, mostly on the ETag that the client has seen last. */
export function chooseCondition({ random, memory }: Chooser): { condition?: Condition } {
  const { etag } = memory
  if (random.chance(0.5)) return {}
  if (etag !== undefined && random.chance(0.7)) return { condition: { match: etag } }
  if (random.chance(0.3)) return { condition: { match: '*' } }
  return { condition: { none: etag === undefined || random.chance(0.7) ? '*' : etag } }
}

/** The client's own lease mostly, sometimes one that is no longer there. */
export function chooseLease({ random, memory }: Chooser): { lease?: string } {
  const { lease, oldLease } = memory
  if (lease !== undefined && random.chance(0.85)) return { lease }
  return oldLease !== undefined && random.chance(0.1) ? { lease: oldLease } : {}
}

/** Mostly what ends the lease of the client, so that others can go on. */
export function chooseLeaseAction(
  { random, memory }: Chooser,
  finiteSeconds: number | undefined,
): Operation {
  // prettier-ignore
  const { lease, oldLease } = memory
  const mine = lease === undefined ? 0 : 1
  const name = random.weighted({
    acquire: 4,
    release: 6 * mine,
    change: mine,
    renew: finiteSeconds === undefined ? 0 : mine,
    break: 1 + mine,
    stale: oldLease === undefined ? 0 : 0.5,
  })
  if (name === 'stale')
    return { name: random.pick(['change', 'release']), to: random.guid(), id: oldLease ?? '' }
  if (name === 'acquire') {
    const seconds = finiteSeconds !== undefined && random.chance(0.5) ? finiteSeconds : -1
    return { name, id: random.guid(), seconds }
  }
  if (name === 'break') return finiteSeconds === undefined ? { name } : { name, seconds: random.pick([0, 0, 1]) } // prettier-ignore
  if (name === 'change') return { name, id: lease ?? '', to: random.guid() }
  return { name, id: lease ?? '' }
}

export function rememberLease(
  memory: Memory,
  { name, id, to, lease }: Operation,
  { status, code }: Answer,
): void {
  // prettier-ignore
  const isLost = status === 409 || code === 'LeaseLost' || /^LeaseNotPresent|^LeaseIdMismatch/.test(code ?? '') // prettier-ignore
  const held = name === 'acquire' ? id : name === 'change' ? to : undefined
  if (status < 300 && held !== undefined) {
    if (memory.lease !== undefined) memory.oldLease = memory.lease
    memory.lease = held
  } else if ((status < 300 && name === 'release') || (isLost && (id ?? lease) === memory.lease)) {
    if (memory.lease !== undefined) memory.oldLease = memory.lease
    delete memory.lease
  }
}

export function leaseHeaders({ name, id, to, seconds }: Operation): Record<string, string> {
  return {
    'x-ms-lease-action': name,
    ...(name === 'acquire' && { 'x-ms-lease-duration': String(seconds), 'x-ms-proposed-lease-id': id ?? '' }),
    ...(name === 'break' && seconds !== undefined && { 'x-ms-lease-break-period': String(seconds) }),
    ...(name !== 'acquire' && id !== undefined && { 'x-ms-lease-id': id }),
    ...(to !== undefined && { 'x-ms-proposed-lease-id': to }),
  } // prettier-ignore
}

/** The lease id is the only thing that an answer to a lease action tells. */
export function leaseAnswer(reply: Reply): Answer {
  const [outcome, id] = [outcomeOf(reply), headerOf(reply, 'x-ms-lease-id')]
  return outcome.status < 300 && id !== undefined ? { ...outcome, id } : outcome
}

export function conditionHeaders({ condition, lease }: Operation): Record<string, string> {
  return {
    ...(condition?.match !== undefined && { 'If-Match': condition.match }),
    ...(condition?.none !== undefined && { 'If-None-Match': condition.none }),
    ...(lease !== undefined && { 'x-ms-lease-id': lease }),
  }
}
