// What people use to see and steer a server. startServer(), the admin port and the command offer it with the same names.
import type { Entry, JournalEntry } from './entry.ts'
import type { JournalFilter } from './journal.ts'
import type { Point } from './point.ts'
import type { ErrorCode } from '../storage/shared/error.ts'

/** Milliseconds, or a duration of ISO 8601 such as `PT60S` or `P1D`. */
export type Duration = number | string

/** Milliseconds since 1970, a Date, or a time of ISO 8601. */
export type Time = number | string | Date

export interface JournalApi {
  /** Oldest first. */
  list(filter?: JournalFilter): readonly JournalEntry[]
  /** Calls `listener` with every new entry until the returned function is called. */
  listen(listener: (entry: JournalEntry) => void, filter?: JournalFilter): () => void
  clear(): void
}

/** Who holds something, as far as the journal still knows. */
export type Holder = {
  /** The journal entry with which it began. */
  readonly entry?: number
  readonly client?: string
  readonly address?: string
  readonly since?: string
}

export type HeldLease = Holder & {
  readonly kind: 'container' | 'blob' | 'share' | 'file'
  /** `/account/container/blob`; a snapshot of a share is `/account/share?sharesnapshot=…`. */
  readonly resource: string
  readonly leaseId: string
  readonly state: 'leased' | 'breaking'
  /** undefined: it never expires. */
  readonly secondsLeft?: number
}

/** Hidden by a get, or put with a delay: then its dequeueCount is 0. */
export type InvisibleMessage = Holder & {
  readonly account: string
  readonly queue: string
  readonly messageId: string
  readonly dequeueCount: number
  readonly insertedAt: string
  readonly visibleAt: string
  readonly secondsLeft: number
  readonly popReceipt: string
}

export type HeldOpen = Holder & {
  readonly id: string
  readonly resource: string
  readonly isDirectory: boolean
  /** The account, if that has logged in itself, or if the client has lost its connection. */
  readonly user: string
  readonly address: string
  /** 'read', 'write', 'delete', what the client may do. */
  readonly access: readonly string[]
  /** What it lets others do meanwhile. */
  readonly shares: readonly string[]
  /** What it may cache: 'read', 'write', 'handle'. */
  readonly caches: readonly string[]
  readonly isPersistent: boolean
  readonly isDeletePending: boolean
}

export type HeldLock = Holder & {
  readonly openId: string
  readonly resource: string
  /** Decimal, since they may exceed what a number can hold. */
  readonly offset: string
  readonly length: string
  readonly isExclusive: boolean
}

export type PendingCopy = Holder & {
  readonly kind: 'blob' | 'file'
  readonly resource: string
  readonly copyId: string
  readonly source: string
  readonly copiedBytes: number
  readonly totalBytes?: number
}

export type UncommittedBlocks = Holder & {
  readonly resource: string
  readonly blockCount: number
  /** Left out if the list has more than 100,000 blocks: adding up their lengths would take too long. */
  readonly bytes?: number
  /** When they are discarded. */
  readonly expiresAt: string
}

/** `countMax`: from 1 to 10,000; by default 1,000. */
export type HeldOptions = { readonly countMax?: number }

/**
 * What clients hold now. Times are by the server's clock. Leases, messages, copies and blocks are those of the store; opens
 * and locks those of this server, so on several nodes only the home of the files has any.
 */
export interface HeldApi {
  /** Active and breaking ones. */
  leases(options?: HeldOptions): Promise<readonly HeldLease[]>
  /** Of the first 100,000 queues. */
  invisibleMessages(options?: HeldOptions): Promise<readonly InvisibleMessage[]>
  opens(options?: HeldOptions): Promise<readonly HeldOpen[]>
  locks(options?: HeldOptions): Promise<readonly HeldLock[]>
  copies(options?: HeldOptions): Promise<readonly PendingCopy[]>
  uncommitted(options?: HeldOptions): Promise<readonly UncommittedBlocks[]>
  /**
   * At once, without a break period, also if it never expires. A blob and a file, or a container and a share, may have the
   * same path: `kind` says which is meant.
   */
  breakLease(resource: string, kind?: HeldLease['kind']): Promise<void>
  /** The message can be got again at once; its receiver's receipt is stale. */
  makeVisible(message: Pick<InvisibleMessage, 'account' | 'queue' | 'messageId'>): Promise<void>
  /** As Force Close Handles: what the client has cached and not written is lost. */
  closeOpen(id: string): Promise<void>
}

export const RACE_KINDS = [
  'lost update',
  'lease outlived',
  'message handled twice',
  'check then act',
  'torn read',
  'REST over SMB',
] as const

export type RaceKind = (typeof RACE_KINDS)[number]

export type Race = {
  readonly kind: RaceKind
  /** Merges of other properties, and the like: reported, but no error. */
  readonly isHarmless: boolean
  readonly resource: string
  /** Both clients, what happened, and what to do about it. */
  readonly explanation: string
  readonly clients: readonly string[]
  /** The journal entries, in order. */
  readonly entries: readonly JournalEntry[]
}

export interface RaceApi {
  races(): readonly Race[]
  /** Fails with the explanations. */
  expectNoRaces(): Promise<void>
}

export type ClockState = {
  readonly now: string
  readonly isHeld: boolean
  readonly offsetMs: number
}

/** Everything that depends on the time has happened when these resolve. */
export interface ClockApi {
  state(): ClockState
  hold(): Promise<ClockState>
  advance(by: Duration): Promise<ClockState>
  set(time: Time): Promise<ClockState>
  /** Goes on from the time that it shows. */
  run(): Promise<ClockState>
}

/** What a barrier or a fault applies to. Left out: anything. */
export type Match = {
  readonly service?: string
  readonly operation?: string
  readonly account?: string
  /** `/container/blob`; a `*` stands for any text. */
  readonly path?: string
  readonly client?: string
  readonly clientRequestId?: string
}

export type BarrierRule = {
  readonly at: Point
  readonly match?: Match
  /** How many requests it holds; later ones pass. By default all. */
  readonly count?: number
  /** A held request goes on after this time. By default a minute. */
  readonly timeLimit?: Duration
}

export type HeldRequest = {
  readonly client: string
  readonly operation: string
  readonly path: string
  readonly clientRequestId?: string
}

export type BarrierState = BarrierRule & {
  readonly id: string
  /** In the order in which they came. */
  readonly held: readonly HeldRequest[]
  /** Requests that it held and that have gone on, for whatever reason. */
  readonly releasedCount: number
  /** Requests that it would have held, had the server not held as many as it can (`HELD_COUNT_MAX`) already. */
  readonly passedCount: number
}

export interface Barrier {
  readonly id: string
  /** Resolves when so many requests wait; by default one. Fails after the time limit, by default 30 seconds. */
  held(count?: number, options?: { readonly timeLimit?: Duration }): Promise<readonly HeldRequest[]>
  /**
   * Lets the requests of these clients go on, each when the one before has ended. Without names, all of them, in the order in
   * which they came. Resolves when they have ended. Fails if a named client has no request here, or if one has not ended
   * within the barrier's time limit.
   */
  release(...clients: readonly string[]): Promise<void>
  /** Lets all go on, and holds no more. */
  remove(): void
  state(): BarrierState
}

export interface BarrierApi {
  hold(rule: BarrierRule): Barrier
  list(): readonly BarrierState[]
  find(id: string): Barrier | undefined
  remove(id: string): boolean
  /** Removes all. */
  clear(): void
}

export type FaultEffect =
  /** An error instead of an answer, such as 503 ServerBusy with Retry-After. */
  | {
      readonly status: number
      /** By default: 408 and 500 OperationTimedOut and InternalError, 429 TooManyRequests, 503 ServerBusy. */
      readonly code?: ErrorCode
      /** By default, 1 with 429 and 503. */
      readonly retryAfterSeconds?: number
    }
  /** Of real time, whatever the server's clock shows. */
  | { readonly delay: Duration | { readonly from: Duration; readonly to: Duration } }
  /** The connection ends; `before`: nothing has happened; `after`: the write is stored, and its answer lost. */
  | { readonly reset: 'before' | 'after' }
  /** The body of the answer ends after so many bytes, and the connection with it. */
  | { readonly truncate: number }
  /** Of bodies, in both directions, all matching requests together. Of real time. */
  | { readonly bytesPerSecond: number }
  /** More get 503 ServerBusy. A second of the server's clock. */
  | { readonly requestsPerSecond: number }
  /** What stores something fails as it does on such a disk. Nothing is stored. */
  | { readonly disk: 'full' | 'sync failure' }

export type FaultRule = {
  readonly match?: Match
  readonly effect: FaultEffect
  /** From 0 to 1. By default 1. */
  readonly probability?: number
  /** Only the n-th matching request, counted from 1. A fault of the disk counts those that store something. */
  readonly nth?: number
  /** At most so often. */
  readonly times?: number
  /** The same seed gives the same faults. By default any; `state()` tells it. */
  readonly seed?: number
}

export type FaultState = FaultRule & {
  readonly id: string
  readonly seed: number
  readonly matchedCount: number
  readonly struckCount: number
}

export interface Fault {
  readonly id: string
  remove(): void
  state(): FaultState
}

export interface FaultApi {
  add(rule: FaultRule): Fault
  list(): readonly FaultState[]
  remove(id: string): boolean
  clear(): void
}

/** What to empty. Left out: everything. */
export type Scope = {
  readonly account?: string
  readonly service?: 'blob' | 'queue' | 'table' | 'file'
  /** The name of a container, queue, table or share of the service. Without an account, in every account. */
  readonly container?: string
}

export type ResetResult = {
  /** How many containers, queues, tables and shares were removed. */
  readonly removedCount: number
}

export interface ResetApi {
  /**
   * Removes containers, queues, tables and shares with all they have, whatever leases and policies say, and closes what SMB
   * clients have open in them. The properties of the services are the default ones again, unless the scope is a container.
   */
  reset(scope?: Scope): Promise<ResetResult>
}

export interface SeedApi<Seed> {
  /** From a folder or an object. What is there already stays or is overwritten; messages are added. */
  seed(seed: string | Seed): Promise<void>
  /** Into a new folder, in the form from which a store is seeded. */
  export(folder: string): Promise<void>
}

export type SnapshotState = {
  readonly name: string
  readonly time: string
  readonly recordCount: number
}

export interface SnapshotApi {
  save(name: string): Promise<SnapshotState>
  restore(name: string): Promise<void>
  list(): Promise<readonly SnapshotState[]>
  delete(name: string): Promise<boolean>
}

/** Only in programs: the new server lives in the same process. */
export interface ForkApi<Server> {
  /** Starts another server, in memory, that begins with the snapshot and shares the bytes of its content. */
  fork(name: string): Promise<Server>
}

/** A record of an entry as the detectors see it. */
export type { Entry, JournalEntry, JournalFilter }
