// One request and its answer, as the front door sees them: what came, and the ways to answer it.
import type { Body } from './body.ts'
import type { RequestHead } from './request-head.ts'
import type { HeaderLists } from './response-head.ts'

export type Exchange = {
  readonly head: RequestHead
  readonly body: Body
  readonly secure: boolean
  readonly remoteAddress: string
  /** Only this machine reaches the port. */
  readonly onLoopback: boolean
  /** The client went away: there is nobody to answer. */
  readonly gone: boolean
  /** Called if the client goes away before the answer has ended. */
  whenGone(listener: () => void): void
  /** Ends the connection without an answer, or in the middle of one. */
  drop(): void
  /** The request may be served: until then what its client makes the server hold is counted (unauthenticated-memory.ts). */
  admit(hasAuthenticated: boolean): void
  /** All of an answer; among the headers is its Content-Length. */
  answer(status: number, lists: HeaderLists, bytes?: Uint8Array): void
  /** An answer in parts: `begin`, then `write` as often as it takes, then `end`. `isLast`: its connection ends with it. */
  begin(status: number, lists: HeaderLists, ending?: { readonly isLast: boolean }): void
  /** False: wait until `drained` before the next one. `done` is told when the bytes are on their way. */
  write(bytes: Uint8Array, done?: () => void): boolean
  drained(): Promise<void>
  end(): void
}

/** What answers the requests of a port. */
export type RequestHandler = {
  /** Answers every error that a request can cause; what it can't name is a fault of ours. */
  handle(exchange: Exchange): Promise<void>
  logFault(error: unknown, requestId: string): void
}
