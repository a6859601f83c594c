// The background part of Copy Blob and Copy File: reads what other servers have, a part at a time, and notes
// after each how far it is. Only so many copies run at once; the others wait their turn. Closing stops them
// where they are, and whoever opens the store next takes them up again.
import { setTimeout } from 'node:timers/promises'
import { fetchSource, type Source as Fetched } from '../../../http/client/fetch-source.ts'
import type { Key } from '../../../kv/kv.ts'
import type { CopyOutcome, PendingCopy } from '../../../storage/shared/copy-state.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { CONNECT_TIMEOUT_MS, IDLE_TIMEOUT_MS } from './remote-source.ts'
import type { ContentService } from '../service.ts'
import { collect, discard, upload, type Upload, type UploadSettings } from '../upload.ts'

export type CopyService = Pick<
  ContentService,
  'kv' | 'extents' | 'hashThreads' | 'newId' | 'moment' | 'copySources'
> & {
  /** A failure that is ours and not the source's. */
  report(error: unknown): void
}

/** What a job needs to know of a copy; where its bytes gather is its service's own. */
export type Pending = Omit<PendingCopy, 'account' | 'map'> & { readonly map: number }

/** The copies of one service: what is known of them, and what becomes of them. */
export type CopyBook<Place> = {
  nameOf(place: Place): string
  list(after: Key | undefined, countMax: number): Promise<readonly Listed<Place>[]>
  /** Nothing if its destination is gone: then the record goes too. */
  find(place: Place): Promise<Found | undefined>
  /** The source is to be read again from its first byte. */
  restart(place: Place): Promise<void>
  /** False if nobody waits for these bytes any more. */
  add(place: Place, before: Pending, part: Upload): Promise<boolean>
  end(place: Place, copyId: string, outcome: CopyOutcome): Promise<void>
}

/** What the operations ask of the jobs. */
export type CopyJobQueue<Place> = {
  /** Asked before a copy is promised. */
  checkFree(): void
  begin(place: Place): void
  /** The copy was aborted: its job has nothing to do any more. */
  cancel(place: Place): void
}

export type Listed<Place> = { readonly key: Key; readonly place: Place }
export type Found = { readonly pending: Pending; readonly cipher: UploadSettings['cipher'] }

const JOBS_MAX = 4
/** Copies that may wait for their turn; more are refused. */
const WAITING_MAX = 10_000
/** What a crash costs, and how often progress is seen. */
const PART_BYTES = 8 * 1024 * 1024
/** In a row without a byte between them. */
const ATTEMPTS_MAX = 5
const RETRY_MS = 1_000
/** "Copy Blob": what is not done in two weeks is given up. */
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

  /** Takes up what was under way when the store was last closed. */
  async resume(): Promise<void> {
    let after: Key | undefined
    for (;;) {
      const found = await this.#book.list(after, LIST_COUNT)
      for (const { place } of found) this.#waiting.set(this.#book.nameOf(place), place)
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
      // One that was aborted may still be on its way out; the new one waits for it.
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

/** Tries until it is done, told to stop, or there is no hope. */
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
      // At once if something came since the last time, then ever later.
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
    // As the service writes it: status, code, and what could not be done.
    const code = known.details['CopySourceErrorCode'] ?? known.code
    const description = `${known.status} ${code} "Copy failed when reading the source."`
    return { status: known.status >= 500 ? 'again' : 'failed', description }
  }
}

async function copyParts<Place>(job: Job<Place>, signal: AbortSignal): Promise<Attempt> {
  const { service } = job
  const begun = await beginReading(job)
  if (begun === undefined) return 'stopped'
  let { pending } = begun
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
      const added = await addPart(job, { pending, cipher: begun.cipher }, source)
      if (!added) return 'stopped'
      pending = { ...pending, copiedBytes: pending.copiedBytes + lengthBytes }
    }
    // What comes behind the last byte, or does not come at its end, is told here.
    await collect(take(1))
    return { status: 'success' }
  } finally {
    fetched.close()
  }
}

/** What is to be read next: the rest, or all of it where the rest can't be had. */
async function beginReading<Place>({ book, place }: Job<Place>): Promise<Found | undefined> {
  const before = await book.find(place)
  if (before === undefined) return undefined
  const { isResumable, copiedBytes } = before.pending
  if (isResumable === true || copiedBytes === 0) return before
  await book.restart(place)
  return book.find(place)
}

/** The rest of the source, and of the same state of it. */
async function fetchPending(
  { copySources: { patterns } }: CopyService,
  { url, etag, isUnconditional, copiedBytes, totalBytes }: Pending,
  signal: AbortSignal,
): Promise<Fetched> {
  // A weak ETag matches nothing in If-Match (RFC 9110 13.1.1); it is compared below all the same.
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
  { pending, cipher }: Found,
  source: Parameters<typeof upload>[1],
): Promise<boolean> {
  const hashes = { md5: undefined, crc64: undefined }
  const part = await upload(service, source, { cipher, hashes, wants: 'sent' })
  const give = (error: unknown) => discard(service, part, error)
  const added = await book.add(place, pending, part).catch((error: unknown) => give(error))
  if (!added) await give(undefined).catch(() => {})
  return added
}

/** Takes a stream apart: each call gives the next bytes of it, whatever its chunks are. */
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
