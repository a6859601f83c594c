// Hashes of long bodies in threads of their own: MD5 takes longer than all else that is done with a body of
// many MiB, and the thread that serves every connection has better things to do. The bytes are copied into memory
// that goes to the thread and comes back, so that nothing is allocated for them.
import { Worker } from 'node:worker_threads'
import { hashHere, type HashKind, type Hashing } from './hash.ts'

export type HashMessage = {
  readonly body: number
  readonly kinds: readonly HashKind[]
  readonly bytes: ArrayBuffer
  readonly lengthBytes: number
  /** The body ends here, or was given up: the thread forgets it. */
  readonly isLast: boolean
}

export type HashAnswer = {
  readonly body: number
  readonly bytes: ArrayBuffer
  /** At the end of a body, in the order of its kinds. */
  readonly digests: readonly Uint8Array[] | undefined
}

const BATCH_BYTES = 256 * 1_024
/** Of one body: so much may be on its way before it has to wait. */
const BATCHES_MAX = 4
const FREE_MAX = 32
/** Below this the hand-over costs more than it saves. */
const THREAD_BYTES_MIN = 512 * 1_024

export class HashThreads {
  #countMax: number
  #threads: readonly HashThread[] = []

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** In the thread with the least to do; another one is started while there may be more. */
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
      // One that ends by itself is not started again: what fails for one body would fail for each.
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
  readonly #free: ArrayBuffer[] = []
  #lastBody = 0

  constructor(onEnd: () => void) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    this.#worker = new Worker(new URL(`./hash-thread.${extension}`, import.meta.url))
    // A thread that waits for work keeps no process alive.
    this.#worker.unref()
    this.#worker.on('message', (answer: HashAnswer) => this.#take(answer))
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => {
      onEnd()
      this.#fail(new Error('the thread that hashes has ended'))
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

  memory(): ArrayBuffer {
    return this.#free.pop() ?? new ArrayBuffer(BATCH_BYTES)
  }

  send(message: HashMessage): void {
    this.#worker.postMessage(message, [message.bytes])
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #take({ body, bytes, digests }: HashAnswer): void {
    if (this.#free.length < FREE_MAX) this.#free.push(bytes)
    this.#bodies.get(body)?.taken(digests)
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
  #underWayCount = 0
  #isEnded = false
  /** Called when there is room again, or will never be. */
  #onRoom: (() => void) | undefined

  constructor(thread: HashThread, body: number, kinds: readonly HashKind[]) {
    this.#thread = thread
    this.#body = body
    this.#kinds = kinds
    this.#batch = new Uint8Array(thread.memory())
    this.#settle = { resolve: () => {}, reject: () => {} }
    this.#digests = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    // Whoever waits for it gets the failure.
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
    if (this.#underWayCount < BATCHES_MAX) return undefined
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

  taken(digests: readonly Uint8Array[] | undefined): void {
    this.#underWayCount -= 1
    if (this.#underWayCount < BATCHES_MAX) this.#onRoom?.()
    if (digests !== undefined) this.#settle.resolve(digests)
  }

  fail(error: unknown): void {
    this.#isEnded = true
    this.#underWayCount = 0
    this.#onRoom?.()
    this.#settle.reject(error)
  }

  #sendFull(): void {
    if (!this.#isEnded) this.#send(false)
    this.#batch = new Uint8Array(this.#thread.memory())
    this.#filledBytes = 0
  }

  #send(isLast: boolean): void {
    this.#underWayCount += 1
    this.#thread.send({
      body: this.#body,
      kinds: this.#kinds,
      bytes: this.#batch.buffer,
      lengthBytes: this.#filledBytes,
      isLast,
    })
  }
}
