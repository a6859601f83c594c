// Points are named places in the life of a request, at which a barrier can hold it and a fault can strike. While nothing is
// set, a point costs one comparison.
import type { HttpEndpoint } from '../auth/request.ts'

export const POINTS = [
  'received',
  'authorized',
  'read',
  'checked',
  'committed',
  'answered',
] as const

/**
 * - received: the operation is known; authentication comes next.
 * - authorized: authentication and authorization have passed.
 * - read: a transaction that only reads has run.
 * - checked: a transaction has run to its end, so all its checks have passed, but it has not been stored. It is undone, and
 *   runs again when the request goes on.
 * - committed: a transaction that writes is durable.
 * - answered: the answer has been written.
 */
export type Point = (typeof POINTS)[number]

export type ControlledService = HttpEndpoint | 'smb'

/** What barriers and faults can match of a request. */
export type Subject = {
  readonly service: ControlledService
  readonly operation: string
  readonly account: string
  /** Of the resource, below the account: `/container/blob`. */
  readonly path: string
  /** How the journal names the client. */
  readonly client: string
  readonly clientRequestId: string | undefined
  /** The client has gone; whoever holds the request lets it go. */
  whenGone(listener: () => void): void
}

/** A request on its way from point to point; the same object at each of them. */
export type Passing = Subject & {
  /** At `checked`: the transaction has something to store. */
  readonly stores: boolean
  /** What is to happen to its bytes and its answer. Whoever listens may set it until the answer begins. */
  readonly harm: Harm
  /** Called when the request is over: its answer has been written, or it gets none. */
  whenEnded(listener: () => void): void
}

/** What faults do to a request besides failing it. */
export type Harm = {
  /** The connection ends instead of the answer. */
  isAnswerLost?: boolean
  /** The connection ends after so many bytes of the answer's body. */
  truncateBytes?: number
  /** Waits until so many bytes may pass, of the body of the request or of the answer. */
  pace?: { take(bytes: number): Promise<void>; readonly sliceBytes: number }
}

/** The connection ends, and the request gets no answer. */
export class ConnectionReset extends Error {
  override readonly name = 'ConnectionReset'
}

/** Whoever listens at the points: barriers and faults. */
export interface PointListener {
  /** undefined: the request goes on at once. A rejection fails the request with that error. */
  reach(point: Point, request: Passing): Promise<void> | undefined
}

/** The listeners of a server. */
export class Points {
  #listeners: readonly PointListener[] = []

  get isArmed(): boolean {
    return this.#listeners.length > 0
  }

  /** Returns a function that removes it. */
  listen(listener: PointListener): () => void {
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener)
    }
  }

  /** One listener after the other. */
  async reach(point: Point, request: Passing): Promise<void> {
    for (const listener of this.#listeners) await listener.reach(point, request)
  }
}
