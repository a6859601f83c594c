// The background part of Copy Blob and Copy File: fetches sources from other servers, a part at a time, and records the
// progress after each part. A few copies run at once; the others are queued. Closing interrupts them, and the next
// start of the server resumes them.
import { setTimeout } from 'node:timers/promises'
import { fetchSource, type FetchedSource } from '../../../http/client/fetch-source.ts'
import type { Key } from '../../../kv/kv.ts'
import type { CopyOutcome, PendingCopy } from '../../../storage/shared/copy/copy-state.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { CONNECT_TIMEOUT_MS, IDLE_TIMEOUT_MS } from './remote-source.ts'
import type { ContentService } from '../service.ts'
import { collect, discard, upload, type Upload, type UploadSettings } from '../upload.ts'

export type CopyService = Pick<
  ContentService,
  'kv' | 'extents' | 'hashThreads' | 'newId' | 'moment' | 'copySources'
> & {
  /** Reports a failure that is ours, not the source's. */
  report(error: unknown): void
}

/** What a job needs to know about a copy. */
type PendingJob = Omit<PendingCopy, 'account'>

/** The records of one service's pending copies. */
export type CopyBook<Place> = {
  nameOf(place: Place): string
  list(after: Key | undefined, countMax: number): Promise<readonly Listed<Place>[]>
  /** Returns undefined, and removes the record, if the destination no longer exists. */
  find(place: Place): Promise<FoundCopy | undefined>
  /** Resets the progress: the source will be read from its first byte again. */
  restart(place: Place): Promise<void>
  /** False if the copy no longer needs these bytes. */
  add(place: Place, before: PendingJob, part: Upload): Promise<boolean>
  end(place: Place, copyId: string, outcome: CopyOutcome): Promise<void>
}

/** What the operations use of the jobs. */
export type CopyJobQueue<Place> = {
  /** Throws ServerBusy if the queue is full; called before a copy is accepted. */
  checkFree(): void
  begin(place: Place): void
  /** Stops the job of an aborted copy. */
  cancel(place: Place): void
}

export type Listed<Place> = { readonly key: Key; readonly place: Place }
export type FoundCopy = { readonly pending: PendingJob; readonly cipher: UploadSettings['cipher'] }

const JOBS_MAX = 4
/** Length of the queue; more copies are refused. */
const WAITING_MAX = 10_000
/** The progress that a crash can lose, and the interval at which clients see progress. */
const PART_BYTES = 8 * 1024 * 1024
/** Consecutive attempts without progress. */
const ATTEMPTS_MAX = 5
const RETRY_MS = 1_000
/** "Copy Blob": a copy that takes longer than two weeks fails. */
const DURATION_MS_MAX = 14 * 24 * 60 * 60 * 1_000
const LIST_COUNT = 1_000

type Running = { readonly controller: AbortController; readonly done: Promise<void> }

/** A class, because it has a lifetime. */
export class CopyJobs<Place> implements CopyJobQueue<Place> {
  readonly #service: CopyService
  readonly #book: CopyBook<Place>
  readonly #running = new Map<string, Running>()
  readonly #waiting = new Map<string, Place>()
  #isClosed = false

  constructor(service: CopyService, book: CopyBook<Place>) {
    this.#service = service
    this.#book = book
  }

  /** Queues the pending copies: at the start of a server and, in a cluster, those that other nodes have accepted. */
  async resume(): Promise<void> {
    let after: Key | undefined
    for (;;) {
      const found = await this.#book.list(after, LIST_COUNT)
      for (const { place } of found) {
        const name = this.#book.nameOf(place)
        if (!this.#running.has(name)) this.#waiting.set(name, place)
      }
      this.#next()
      after = found.at(-1)?.key
      if (found.length < LIST_COUNT) return
    }
  }

  checkFree(): void {
    if (this.#waiting.size >= WAITING_MAX) throw new StorageError('ServerBusy')
  }

  begin(place: Place): void {
    this.#waiting.set(this.#book.nameOf(place), place)
    this.#next()
  }

  cancel(place: Place): void {
    const name = this.#book.nameOf(place)
    this.#waiting.delete(name)
    this.#running.get(name)?.controller.abort()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#waiting.clear()
    const running = [...this.#running.values()]
    for (const { controller } of running) controller.abort()
    await Promise.all(running.map(({ done }) => done))
  }

  #next(): void {
    for (const [name, place] of this.#waiting) {
      if (this.#isClosed || this.#running.size >= JOBS_MAX) return
      // An aborted job for this name may still be stopping; the new one waits for it.
      if (this.#running.has(name)) continue
      this.#waiting.delete(name)
      const controller = new AbortController()
      const job = { service: this.#service, book: this.#book, place }
      const done = runJob(job, controller.signal)
        .catch((error: unknown) => this.#service.report(error))
        .then(() => {
          this.#running.delete(name)
          this.#next()
        })
      this.#running.set(name, { controller, done })
    }
  }
}

type Job<Place> = {
  readonly service: CopyService
  readonly book: CopyBook<Place>
  readonly place: Place
}

/** Retries until the copy succeeds, is stopped, or fails for good. */
async function runJob<Place>(job: Job<Place>, signal: AbortSignal): Promise<void> {
  const { book, place } = job
  let attempts = 0
  let reachedBytes = -1
  for (;;) {
    const found = await book.find(place)
    if (found === undefined || signal.aborted) return
    const { pending } = found
    if (pending.copiedBytes > reachedBytes) attempts = 0
    reachedBytes = pending.copiedBytes
    const outcome = await attempt(job, signal)
    if (outcome === 'stopped') return
    attempts += 1
    if (outcome.status === 'again' && attempts < ATTEMPTS_MAX) {
      // The first retry after progress is immediate; each further one waits longer.
      if (attempts > 1) await wait(RETRY_MS * (attempts - 1), signal)
      continue
    }
    const ended: CopyOutcome =
      outcome.status === 'again' ? { ...outcome, status: 'failed' } : outcome
    await book.end(place, pending.copyId, ended)
    return
  }
}

async function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  await setTimeout(delayMs, undefined, { signal, ref: false }).catch(() => undefined)
}

type Attempt = CopyOutcome | { readonly status: 'again'; readonly description: string } | 'stopped'

async function attempt<Place>(job: Job<Place>, signal: AbortSignal): Promise<Attempt> {
  const { service } = job
  try {
    return await copyParts(job, signal)
  } catch (error) {
    if (signal.aborted) return 'stopped'
    const known = error instanceof StorageError ? error : new StorageError('InternalError')
    if (known.code === 'InternalError') service.report(error)
    // In the service's format: status, code, reason.
    const code = known.details['CopySourceErrorCode'] ?? known.code
    const description = `${known.status} ${code} "Copy failed when reading the source."`
    return { status: known.status >= 500 ? 'again' : 'failed', description }
  }
}

async function copyParts<Place>(job: Job<Place>, signal: AbortSignal): Promise<Attempt> {
  const { service } = job
  const found = await beginReading(job)
  if (found === undefined) return 'stopped'
  let { pending } = found
  const isWhole = pending.totalBytes > 0 && pending.copiedBytes === pending.totalBytes
  if (isWhole) return { status: 'success' }
  const fetched = await fetchPending(service, pending, signal)
  try {
    const take = partsOf(fetched.stream())
    while (pending.copiedBytes < pending.totalBytes) {
      if (service.moment().nowMs - pending.startedMs > DURATION_MS_MAX) {
        return { status: 'failed', description: '500 OperationCancelled "Copy took too long."' }
      }
      const lengthBytes = Math.min(PART_BYTES, pending.totalBytes - pending.copiedBytes)
      const source = { lengthBytes, stream: () => take(lengthBytes) }
      const added = await addPart(job, { pending, cipher: found.cipher }, source)
      if (!added) return 'stopped'
      pending = { ...pending, copiedBytes: pending.copiedBytes + lengthBytes }
    }
    // Reading on detects surplus bytes and a stream that did not end properly.
    await collect(take(1))
    return { status: 'success' }
  } finally {
    fetched.close()
  }
}

/** Continues where the copy stopped, or restarts it if its source can't be read from an offset. */
async function beginReading<Place>({ book, place }: Job<Place>): Promise<FoundCopy | undefined> {
  const before = await book.find(place)
  if (before === undefined) return undefined
  const { isResumable, copiedBytes } = before.pending
  if (isResumable === true || copiedBytes === 0) return before
  await book.restart(place)
  return book.find(place)
}

/** Fetches the rest of the source and checks that it has not changed. */
async function fetchPending(
  { copySources: { patterns } }: CopyService,
  { url, etag, isUnconditional, copiedBytes, totalBytes }: PendingJob,
  signal: AbortSignal,
): Promise<FetchedSource> {
  // A weak ETag matches nothing in If-Match (RFC 9110 13.1.1), so it is only compared below.
  const isStrong = isUnconditional !== true && etag?.startsWith('"') === true
  const fetched = await fetchSource({
    url: new URL(url),
    method: 'GET',
    headers: isStrong ? { 'if-match': etag } : {},
    ...(copiedBytes > 0 && { range: { from: copiedBytes } }),
    patterns,
    signal,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  })
  if (fetched.etag === etag && fetched.lengthBytes === totalBytes - copiedBytes) return fetched
  fetched.close()
  throw new StorageError('SourceConditionNotMet')
}

async function addPart<Place>(
  { service, book, place }: Job<Place>,
  { pending, cipher }: FoundCopy,
  source: Parameters<typeof upload>[1],
): Promise<boolean> {
  const hashes = { md5: undefined, crc64: undefined }
  const part = await upload(service, source, { cipher, hashes, wants: 'sent' })
  const abandon = (error: unknown) => discard(service, part, error)
  const added = await book.add(place, pending, part).catch((error: unknown) => abandon(error))
  if (!added) await abandon(undefined).catch(() => {})
  return added
}

/** Splits a stream: each call returns its next bytes, regardless of chunk boundaries. */
export function partsOf(
  stream: AsyncIterable<Uint8Array>,
): (lengthBytes: number) => AsyncGenerator<Uint8Array> {
  const unread: Unread = { chunks: stream[Symbol.asyncIterator](), rest: new Uint8Array(0) }
  return (lengthBytes) => nextPart(unread, lengthBytes)
}

type Unread = { readonly chunks: AsyncIterator<Uint8Array>; rest: Uint8Array }

async function* nextPart(unread: Unread, lengthBytes: number): AsyncGenerator<Uint8Array> {
  let leftBytes = lengthBytes
  while (leftBytes > 0) {
    if (unread.rest.length === 0) {
      const { value, done } = await unread.chunks.next()
      if (done === true) return
      unread.rest = value
    }
    const part = unread.rest.subarray(0, leftBytes)
    unread.rest = unread.rest.subarray(part.length)
    leftBytes -= part.length
    yield part
  }
}
