// Worker threads that hash long bodies: MD5 takes longer than everything else that is done with a body of many MiB, and
// would block the main thread, which serves every connection. The bytes are copied into buffers that are transferred
// to the thread and back, so nothing is allocated for them.
import { Worker } from 'node:worker_threads'
import { BufferPool } from '../../memory/buffer-pool.ts'
import { hashHere, type HashKind, type Hashing } from './hash.ts'

export type HashMessage = {
  readonly body: number
  readonly kinds: readonly HashKind[]
  readonly bytes: ArrayBuffer
  readonly lengthBytes: number
  /** The body ends here, or was aborted: the thread forgets it. */
  readonly isLast: boolean
}

export type HashAnswer = {
  readonly body: number
  readonly bytes: ArrayBuffer
  /** Only at the end of a body, in the order of its kinds. */
  readonly digests: readonly Uint8Array[] | undefined
}

const BATCH_BYTES = 256 * 1_024
/** How many batches of one body may be in flight before it has to wait. */
const BATCHES_MAX = 4
const POOL_BYTES_MAX = 8 * 1_024 * 1_024
/** Below this, handing the body to a thread costs more than it saves. */
const THREAD_BYTES_MIN = 512 * 1_024

export class HashThreads {
  #countMax: number
  #threads: readonly HashThread[] = []

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** Uses the least busy thread; starts another one if all are busy and the limit allows it. */
  begin(kinds: readonly HashKind[], lengthBytes: number): Hashing {
    const isWorthIt = lengthBytes >= THREAD_BYTES_MIN && kinds.length > 0
    const thread = isWorthIt ? this.#leastBusy() : undefined
    return thread === undefined ? hashHere(kinds) : thread.begin(kinds)
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()))
  }

  #leastBusy(): HashThread | undefined {
    const [least] = this.#threads.toSorted((a, b) => a.bodyCount - b.bodyCount)
    if (least?.bodyCount === 0 || this.#threads.length >= this.#countMax) return least
    const started: HashThread = new HashThread(() => {
      // A thread that ended by itself is not restarted: it would fail for the next body too.
      this.#countMax = 0
      this.#threads = this.#threads.filter((thread) => thread !== started)
    })
    this.#threads = [...this.#threads, started]
    return started
  }
}

class HashThread {
  readonly #worker: Worker
  readonly #bodies = new Map<number, ThreadHashing>()
  readonly #pool = new BufferPool(POOL_BYTES_MAX)
  #lastBody = 0

  constructor(onEnd: () => void) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./hash-thread.${extension}`, import.meta.url))
    // An idle thread does not keep the process alive.
    this.#worker.unref()
    this.#worker.on('message', (answer: HashAnswer) => this.#receive(answer))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => {
      onEnd()
      this.#fail(new Error('the hash thread has ended'))
    })
  }

  get bodyCount(): number {
    return this.#bodies.size
  }

  begin(kinds: readonly HashKind[]): Hashing {
    this.#lastBody += 1
    const hashing = new ThreadHashing(this, this.#lastBody, kinds)
    this.#bodies.set(this.#lastBody, hashing)
    return hashing
  }

  takeBatch(): Uint8Array<ArrayBuffer> {
    return this.#pool.take(BATCH_BYTES) ?? new Uint8Array(BATCH_BYTES)
  }

  send(message: HashMessage): void {
    this.#worker.postMessage(message, [message.bytes])
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #receive({ body, bytes, digests }: HashAnswer): void {
    this.#pool.giveBack(new Uint8Array(bytes))
    this.#bodies.get(body)?.received(digests)
    if (digests !== undefined) this.#bodies.delete(body)
  }

  #fail(error: unknown): void {
    for (const hashing of this.#bodies.values()) hashing.fail(error)
    this.#bodies.clear()
  }
}

class ThreadHashing implements Hashing {
  readonly #thread: HashThread
  readonly #body: number
  readonly #kinds: readonly HashKind[]
  readonly #digests: Promise<readonly Uint8Array[]>
  #settle: { resolve(digests: readonly Uint8Array[]): void; reject(error: unknown): void }
  #batch: Uint8Array<ArrayBuffer>
  #filledBytes = 0
  #inFlightCount = 0
  #isEnded = false
  /** Called when another batch may be sent, or when the thread has failed. */
  #onRoom: (() => void) | undefined

  constructor(thread: HashThread, body: number, kinds: readonly HashKind[]) {
    this.#thread = thread
    this.#body = body
    this.#kinds = kinds
    this.#batch = thread.takeBatch()
    this.#settle = { resolve: () => {}, reject: () => {} }
    this.#digests = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // The caller of `digests` gets the failure.
    this.#digests.catch(() => undefined)
  }

  update(chunk: Uint8Array): Promise<void> | undefined {
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + BATCH_BYTES - this.#filledBytes)
      this.#batch.set(part, this.#filledBytes)
      this.#filledBytes += part.length
      at += part.length
      if (this.#filledBytes === BATCH_BYTES) this.#sendFull()
    }
    if (this.#inFlightCount < BATCHES_MAX) return undefined
    return new Promise((resolve) => {
      this.#onRoom = resolve
    })
  }

  digests(): Promise<readonly Uint8Array[]> {
    this.drop()
    return this.#digests
  }

  drop(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#send(true)
  }

  received(digests: readonly Uint8Array[] | undefined): void {
    this.#inFlightCount -= 1
    if (this.#inFlightCount < BATCHES_MAX) this.#onRoom?.()
    if (digests !== undefined) this.#settle.resolve(digests)
  }

  fail(error: unknown): void {
    this.#isEnded = true
    this.#inFlightCount = 0
    this.#onRoom?.()
    this.#settle.reject(error)
  }

  #sendFull(): void {
    if (!this.#isEnded) this.#send(false)
    this.#batch = this.#thread.takeBatch()
    this.#filledBytes = 0
  }

  #send(isLast: boolean): void {
    this.#inFlightCount += 1
    this.#thread.send({
      body: this.#body,
      kinds: this.#kinds,
      bytes: this.#batch.buffer,
      lengthBytes: this.#filledBytes,
      isLast,
    })
  }
}
