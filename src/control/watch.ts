// Watches one request: collects what its transactions read and write, for the journal, and stops at the points. It stands
// between the request and the kv; rules never see it.
import type { Attempted, EventKv, Kv, Observed, ReadTx, Step, Tx } from '../kv/kv.ts'
import { requireValue } from '../kv/kv.ts'
import { need } from '../kv/step.ts'
import { notesOf, type Note } from './object.ts'
import type { Harm, Passing, Point, Points, Subject } from './point.ts'

export class RequestWatch {
  readonly #points: Points
  readonly #subject: () => Subject
  /** By the server's clock. */
  readonly startedMs: number
  /** The last run of each transaction. */
  #observed: Observed[] | undefined = []
  #passing: WatchedPassing | undefined
  #isOver = false
  #refusal: Refused | undefined
  #parts: EndedPart[] | undefined
  #whole: RequestWatch = this

  /** `subject` is asked only while something listens at the points. */
  constructor(points: Points, startedMs: number, subject: () => Subject) {
    this.#points = points
    this.startedMs = startedMs
    this.#subject = subject
  }

  /** A service whose transactions are watched. */
  over<Service>(service: Service): Service {
    if (!hasKv(service)) return service
    const { kv } = service
    return { ...service, kv: new WatchedKv(kv instanceof WatchedKv ? kv.unwatched : kv, this) }
  }

  /** A place for the next transaction. */
  nextTransaction(): number {
    return this.#observed === undefined ? 0 : this.#observed.push(NOTHING) - 1
  }

  observe(at: number, tx: ReadTx): void {
    if (this.#observed !== undefined) this.#observed[at] = tx.observe()
  }

  /** The request has changed nothing, although its answer has the status of a success: a batch of entities. */
  refuse(refusal: Refused): void {
    this.#refusal = refusal
  }

  get refusal(): Refused | undefined {
    return this.#refusal
  }

  /** For a part of a batch: it has notes of its own, and stops where the whole request stops. */
  part(): RequestWatch {
    const part = new RequestWatch(this.#points, this.startedMs, this.#subject)
    part.#whole = this
    return part
  }

  endPart(part: EndedPart): void {
    this.#parts ??= []
    this.#parts.push(part)
  }

  get parts(): readonly EndedPart[] | undefined {
    return this.#parts
  }

  /**
   * Called once, when the request is over: what its transactions have read and written. Those that run later, such as that
   * of a handle which closes by itself, belong to nobody.
   */
  takeNotes(isAboutObject = true): readonly Note[] {
    const observed = this.#observed ?? []
    this.#observed = undefined
    return notesOf(observed, isAboutObject)
  }

  /** Nothing holds or fails what runs after the request, such as a copy. */
  get isArmed(): boolean {
    return this.#points.isArmed && !this.#whole.#isOver
  }

  /** undefined: nothing listens. `stores`: the transaction that has been checked has something to store. */
  reach(point: Point, stores = false): Promise<void> | undefined {
    if (!this.isArmed) return undefined
    if (this.#whole !== this) return this.#whole.reach(point, stores)
    this.#passing ??= passingOf(this.#subject())
    this.#passing.stores = stores
    return this.#points.reach(point, this.#passing)
  }

  /** What faults do to the answer; undefined: nothing. */
  get harm(): Harm | undefined {
    return this.#passing?.harm
  }

  /** The request is over. */
  end(): void {
    this.#isOver = true
    this.#passing?.end()
  }
}

export type Refused = { readonly status: number; readonly errorCode: string }

/** A part of a batch as the journal shows it: an entry of its own. */
export type EndedPart = {
  readonly operation: string
  readonly path: readonly string[]
  /** Of its own; otherwise it has that of the batch. */
  readonly headText?: string
  readonly requestId: string
  readonly status: number
  readonly errorCode: string | undefined
  readonly notes: readonly Note[]
}

type WatchedPassing = Passing & { stores: boolean; end(): void }

function passingOf(subject: Subject): WatchedPassing {
  const listeners: (() => void)[] = []
  let hasEnded = false
  return {
    ...subject,
    stores: false,
    harm: {},
    whenEnded: (listener) => void (hasEnded ? listener() : listeners.push(listener)),
    end: () => {
      hasEnded = true
      for (const listener of listeners.splice(0)) listener()
    },
  }
}

/** The part of a kv that services have. */
type WatchableKv = Pick<Kv, 'read' | 'write' | 'attemptRead' | 'attempt'>

function hasKv(service: unknown): service is { readonly kv: WatchableKv } {
  return typeof service === 'object' && service !== null && 'kv' in service
}

const NOTHING: Observed = { reads: [], writes: new Map(), volatileWrites: new Map() }

const HELD = { kind: 'held' } as const

/** A class, because there is one per request. */
class WatchedKv<Event> implements EventKv<Event> {
  readonly #kv: EventKv<Event>
  readonly #watch: RequestWatch

  get unwatched(): WatchableKv {
    return this.#kv
  }

  constructor(kv: WatchableKv, watch: RequestWatch) {
    this.#kv = kv as EventKv<Event>
    this.#watch = watch
  }

  read<T>(body: (tx: ReadTx) => Step<T>): Promise<T> {
    const watch = this.#watch
    const at = watch.nextTransaction()
    const running = this.#kv.read((tx) => {
      watch.observe(at, tx)
      return body(tx)
    })
    return watch.isArmed ? reaching(watch, 'read', running) : running
  }

  attemptRead<T>(body: (tx: ReadTx) => Step<T>): Promise<Attempted<T>> {
    const watch = this.#watch
    const at = watch.nextTransaction()
    const running = this.#kv.attemptRead((tx) => {
      watch.observe(at, tx)
      return body(tx)
    })
    return watch.isArmed ? reaching(watch, 'read', running) : running
  }

  async write<T>(body: (tx: Tx<Event>) => Step<T>): Promise<T> {
    return requireValue(await this.attempt(body))
  }

  attempt<T>(body: (tx: Tx<Event>) => Step<T>): Promise<Attempted<T>> {
    return this.#watch.isArmed ? this.#checkedAttempt(body) : this.#attempt(body)
  }

  #attempt<T>(body: (tx: Tx<Event>) => Step<T>): Promise<Attempted<T>> {
    const watch = this.#watch
    const at = watch.nextTransaction()
    return this.#kv.attempt((tx) => {
      watch.observe(at, tx)
      return body(tx)
    })
  }

  async #checkedAttempt<T>(body: (tx: Tx<Event>) => Step<T>): Promise<Attempted<T>> {
    const rehearsal = { stores: false }
    const checked = await this.#attempt((tx) => thenHeld(tx, body, rehearsal))
    if (!('need' in checked) || checked.need !== HELD) return checked
    await this.#watch.reach('checked', rehearsal.stores)
    return reaching(this.#watch, 'committed', this.#attempt(body))
  }

  sizeBytes(): number {
    return this.#kv.sizeBytes()
  }

  close(): Promise<void> {
    return this.#kv.close()
  }

  listen(listener: (event: Event) => void): () => void {
    return this.#kv.listen(listener)
  }
}

async function reaching<T>(watch: RequestWatch, point: Point, running: Promise<T>): Promise<T> {
  const value = await running
  if (hasRun(value)) await watch.reach(point)
  return value
}

/** A body that needs something to happen first (kv/step.ts) runs again later, and has passed no point yet. */
function hasRun(result: unknown): boolean {
  return typeof result !== 'object' || result === null || !('need' in result)
}

/** `stores`: it would have stored something besides volatile records. */
type Rehearsal = { stores: boolean }

/** Runs a body to its end and undoes it. */
function* thenHeld<Event, T>(
  tx: Tx<Event>,
  body: (tx: Tx<Event>) => Step<T>,
  rehearsal: Rehearsal,
): Step<never> {
  yield* body(tx)
  rehearsal.stores = tx.observe().writes.size > 0
  return yield* need(HELD)
}
