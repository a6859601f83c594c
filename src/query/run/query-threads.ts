// Runs queries in worker threads. A query can be any amount of work, and must not block the thread that serves all
// connections. A thread is started for the first query, runs several at a time, and is replaced if it crashes.
import { Worker } from 'node:worker_threads'
import { QueryError } from '../query-error.ts'
import type { QueryQuestion, QueryReply } from './query-message.ts'
import type { QueryRequest, QuerySource } from './query.ts'

type ThreadQuery = QueryRequest & {
  /** The value of UTCNOW. */
  readonly nowMs: number
}

type ThreadSource = Omit<QuerySource, 'giveWay'>

/** For all threads together: each query may hold a parsed record of a few MiB. */
const QUERIES_MAX = 64
/** A thread that needs more is terminated; the server keeps running. */
const HEAP_MIB_MAX = 512
/** How much of the blob is sent to the thread at a time. */
const CHUNK_BYTES_MAX = 256 * 1024

export class QueryThreads {
  readonly #countMax: number
  readonly #heapMibMax: number
  #threads: readonly QueryThread[] = []

  constructor(countMax: number, { heapMibMax = HEAP_MIB_MAX } = {}) {
    this.#countMax = countMax
    this.#heapMibMax = heapMibMax
  }

  /** The number of queries being checked or run. */
  get queryCount(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.queryCount, 0)
  }

  get isFull(): boolean {
    return this.queryCount >= QUERIES_MAX
  }

  /** Rejects with a QueryError if the query is invalid. */
  check(request: QueryRequest): Promise<void> {
    return this.#leastBusy().check(request)
  }

  /** Streams the answer, no faster than it is consumed. Aborting `signal` makes it fail, even while it is computing. */
  run(query: ThreadQuery, source: ThreadSource, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    return this.#leastBusy().run(query, source, signal)
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  #leastBusy(): QueryThread {
    const [least] = this.#threads.toSorted((a, b) => a.queryCount - b.queryCount)
    const mayStart = this.#threads.length < this.#countMax
    if (least !== undefined && (least.queryCount === 0 || !mayStart)) return least
    const started: QueryThread = new QueryThread(this.#heapMibMax, () => {
      this.#threads = this.#threads.filter((thread) => thread !== started)
    })
    this.#threads = [...this.#threads, started]
    return started
  }
}

type Waiting = { resolve(reply: QueryReply): void; reject(error: unknown): void }

class QueryThread {
  readonly #worker: Worker
  /** The queries of this thread, each with the caller that waits for its next reply. */
  readonly #queries = new Map<number, Waiting | undefined>()
  #lastQuery = 0
  #failure: unknown

  constructor(heapMibMax: number, onEnd: () => void) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./query-thread.${extension}`, import.meta.url), {
      // Not the process's own arguments: a thread can't start with `--input-type`, which goes with --eval.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMibMax },
    })
    this.#worker.on('message', (reply: QueryReply) => this.#take(reply))
    this.#worker.on('error', (error) => {
      this.#failure = error
    })
    this.#worker.on('exit', () => {
      onEnd()
      this.#fail(this.#failure ?? new Error('the query thread has ended'))
    })
  }

  get queryCount(): number {
    return this.#queries.size
  }

  async check(request: QueryRequest): Promise<void> {
    const query = this.#begin()
    try {
      const reply = await this.#ask({ kind: 'check', query, request })
      if (reply.kind === 'refused') throw new QueryError(reply.code, reply.message)
    } finally {
      this.#end(query)
    }
  }

  async *run(
    { nowMs, ...request }: ThreadQuery,
    { chunks, totalBytes, syncMarker }: ThreadSource,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const query = this.#begin()
    const cancel = () => this.#drop(query)
    signal.addEventListener('abort', cancel)
    const blob = transferable(chunks)
    try {
      const begin = { kind: 'run', query, request, nowMs, totalBytes, syncMarker } as const
      let reply = await this.#ask(begin)
      while (reply.kind !== 'end') {
        if (reply.kind === 'part') {
          yield reply.bytes
          reply = await this.#ask({ kind: 'pull', query })
        } else {
          const { value: bytes } = await blob.next()
          reply = await this.#ask({ kind: 'bytes', query, bytes }, bytes && [bytes.buffer])
        }
      }
    } finally {
      signal.removeEventListener('abort', cancel)
      this.#drop(query)
      await blob.return(undefined)
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #begin(): number {
    this.#worker.ref()
    this.#lastQuery += 1
    this.#queries.set(this.#lastQuery, undefined)
    return this.#lastQuery
  }

  async #ask(question: QueryQuestion, transfer?: readonly ArrayBuffer[]): Promise<QueryReply> {
    const { query } = question
    if (!this.#queries.has(query)) throw new QueryCancelled()
    const reply = await new Promise<QueryReply>((resolve, reject) => {
      this.#queries.set(query, { resolve, reject })
      this.#send(question, transfer)
    })
    if (reply.kind === 'failed') throw new Error(`query failed: ${reply.stack}`)
    return reply
  }

  #send(question: QueryQuestion, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(question, transfer)
  }

  #take(reply: QueryReply): void {
    const waiting = this.#queries.get(reply.query)
    if (waiting === undefined) return
    this.#queries.set(reply.query, undefined)
    waiting.resolve(reply)
  }

  #drop(query: number): void {
    if (!this.#queries.has(query)) return
    const waiting = this.#queries.get(query)
    this.#end(query)
    this.#send({ kind: 'drop', query })
    waiting?.reject(new QueryCancelled())
  }

  /** An idle thread must not keep the process alive. Done each time, since adding a listener undoes unref. */
  #end(query: number): void {
    this.#queries.delete(query)
    if (this.#queries.size === 0) this.#worker.unref()
  }

  #fail(error: unknown): void {
    const waiting = [...this.#queries.values()]
    this.#queries.clear()
    for (const caller of waiting) caller?.reject(error)
  }
}

/** The caller aborted the query. */
export class QueryCancelled extends Error {
  constructor() {
    super('the query was cancelled')
    this.name = 'QueryCancelled'
  }
}

/** Copies the chunks into buffers of their own, which can be transferred to a thread. */
async function* transferable(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += CHUNK_BYTES_MAX) {
      yield new Uint8Array(chunk.subarray(at, at + CHUNK_BYTES_MAX))
    }
  }
  return undefined
}
