// One request on a connection, as the front door sees it: its head, its body, and the means to answer.
import type { IncomingBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import type { RequestHead } from './request-head.ts'
import type { HeaderLists } from './response-head.ts'

/** The part of a connection that answers go through. */
export interface ExchangeLine {
  readonly number: number
  readonly remoteAddress: string
  readonly gone: boolean
  /** The client has left; `gone` follows when the socket is closed. */
  readonly hasLeft: boolean
  whenGone(listener: () => void): void
  drop(): void
  admit(hasAuthenticated: boolean): void
  makeLast(): void
  answer(status: number, lists: HeaderLists, bytes: Uint8Array | undefined): void
  begin(status: number, lists: HeaderLists, isLast: boolean): void
  write(bytes: Uint8Array, done: (() => void) | undefined): boolean
  drained(): Promise<void>
  end(): void
}

/** One request on a connection, with a head and a body of its own. */
export class HttpExchange implements Exchange {
  readonly head: RequestHead
  readonly body: IncomingBody
  readonly secure: boolean
  readonly remoteAddress: string
  readonly connection: number
  readonly onLoopback: boolean
  readonly #connection: ExchangeLine
  #onLeft: (() => void)[] | undefined

  constructor(
    connection: ExchangeLine,
    port: { readonly secure: boolean; readonly onLoopback: boolean },
    head: RequestHead,
    body: IncomingBody,
  ) {
    this.#connection = connection
    this.head = head
    this.body = body
    this.secure = port.secure
    this.remoteAddress = connection.remoteAddress
    this.connection = connection.number
    this.onLoopback = port.onLoopback
  }

  get gone(): boolean {
    return this.#connection.gone
  }

  whenGone(listener: () => void): void {
    this.#connection.whenGone(listener)
  }

  whenLeft(listener: () => void): void {
    if (this.#connection.hasLeft) return listener()
    this.#onLeft ??= []
    this.#onLeft.push(listener)
  }

  /** The client has left. */
  leave(): void {
    const listeners = this.#onLeft
    this.#onLeft = undefined
    for (const listener of listeners ?? []) listener()
  }

  drop(): void {
    this.#connection.drop()
  }

  admit(hasAuthenticated: boolean): void {
    this.#connection.admit(hasAuthenticated)
  }

  makeLast(): void {
    this.#connection.makeLast()
  }

  answer(status: number, lists: HeaderLists, bytes?: Uint8Array): void {
    this.#connection.answer(status, lists, bytes)
  }

  begin(status: number, lists: HeaderLists, ending?: { readonly isLast: boolean }): void {
    this.#connection.begin(status, lists, ending?.isLast === true)
  }

  write(bytes: Uint8Array, done?: () => void): boolean {
    return this.#connection.write(bytes, done)
  }

  drained(): Promise<void> {
    return this.#connection.drained()
  }

  end(): void {
    this.#connection.end()
  }
}
