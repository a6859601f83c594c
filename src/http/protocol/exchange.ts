// One request and the means to answer it, as the front door sees them.
import type { Body } from './body.ts'
import type { RequestHead } from './request-head.ts'
import type { HeaderLists } from './response-head.ts'

export type Exchange = {
  readonly head: RequestHead
  readonly body: Body
  readonly secure: boolean
  readonly remoteAddress: string
  /** A number of its own for each connection of this process. */
  readonly connection: number
  /** Only this machine can reach the port. */
  readonly onLoopback: boolean
  /** Set if the request did not come over a port of its service: what brought it, for the journal. */
  readonly via?: string
  /** The client has disconnected: there is nobody to answer. */
  readonly gone: boolean
  /** Called if the client disconnects before the answer has ended. */
  whenGone(listener: () => void): void
  /**
   * Called if the client disconnects or closes its side of the connection before the answer has ended. Most clients that do
   * this have given up, and no other sign of it arrives while nothing is sent to them.
   */
  whenLeft(listener: () => void): void
  /** Ends the connection without an answer, or in the middle of one. */
  drop(): void
  /** The request is authorized: until then, the memory that it takes is counted (unauthenticated-memory.ts). */
  admit(hasAuthenticated: boolean): void
  /** The connection closes after the answer. */
  makeLast(): void
  /** Sends a whole answer; its headers include Content-Length. */
  answer(status: number, lists: HeaderLists, bytes?: Uint8Array): void
  /** Starts a streamed answer: `begin`, any number of `write`, `end`. `isLast`: the connection closes after it. */
  begin(status: number, lists: HeaderLists, ending?: { readonly isLast: boolean }): void
  /** False: wait for `drained` before the next write. `done` is called when the bytes are sent. */
  write(bytes: Uint8Array, done?: () => void): boolean
  drained(): Promise<void>
  end(): void
}

/** Answers the requests of a port. */
export type RequestHandler = {
  /** Answers every error that a request can cause; a rejection is a bug of ours. */
  handle(exchange: Exchange): Promise<void>
  logFault(error: unknown, requestId: string): void
}
