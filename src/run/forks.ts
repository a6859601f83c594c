// The servers that are forks of one server: they read its bytes, so they close before it does.
import { ControlError } from '../control/control-error.ts'

type Closable = { close(): Promise<void> }

export class Forks<Server extends Closable> {
  readonly #open = new Set<Server>()
  readonly #starting = new Set<Promise<unknown>>()
  #isClosed = false

  /** `begin` starts a server; that calls its argument with itself when it has closed. */
  async start(begin: (closed: (server: Server) => void) => Promise<Server>): Promise<Server> {
    if (this.#isClosed) throw new ControlError('the server is closed')
    const starting = begin((server) => this.#open.delete(server))
    this.#starting.add(starting)
    try {
      const server = await starting
      this.#open.add(server)
      return server
    } finally {
      this.#starting.delete(starting)
    }
  }

  /** Also those that are just starting. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#starting)
    const closed = await Promise.allSettled([...this.#open].map((server) => server.close()))
    for (const each of closed) if (each.status === 'rejected') throw each.reason
  }
}
