// A proxy between nodes and PostgreSQL that fails as networks do: everything goes silent, or one connection is lost at a
// chosen moment of a commit.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Bind of the prepared statement `commit`: the empty name of the portal, then that of the statement. */
const BIND_COMMIT = Buffer.from('\0commit\0')
/** ReadyForQuery outside of a transaction: the commit has been stored and all of its answer has been sent. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

const NOTHING = Buffer.alloc(0)

export type LostPart =
  /** The commit does not reach the database. */
  | 'request'
  /** It is stored, but its answer does not arrive. */
  | 'answer'
  /** Nor does anything else afterwards, until the network heals. */
  | 'all'

type Pair = {
  readonly node: Socket
  readonly database: Socket
  /** Since the last answer. */
  request: Buffer
  /** Collected while it is withheld. */
  answer: Buffer
  loses?: LostPart
}

type Loss = { readonly part: LostPart; readonly containing: string; done(): void }

export class DatabaseProxy {
  readonly port: number
  readonly #close: () => Promise<void>
  readonly #pairs = new Set<Pair>()
  #isCut = false
  #nextLoss: Loss | undefined

  static async start(databasePort: number): Promise<DatabaseProxy> {
    const server = createServer({ pauseOnConnect: true })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const proxy = new DatabaseProxy(port, async () => {
      proxy.#dropAll()
      await new Promise((resolve) => server.close(resolve))
    })
    server.on('connection', (node) => proxy.#carry(node, databasePort))
    return proxy
  }

  constructor(port: number, close: () => Promise<void>) {
    this.port = port
    this.#close = close
  }

  url(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}?sslmode=disable`
  }

  /** From now on, nothing arrives on either side, not even the end of a connection. */
  cut(): void {
    this.#isCut = true
    for (const { node, database } of this.#pairs) {
      node.pause()
      database.pause()
    }
  }

  /** What was sent meanwhile arrives now, unless its sender has given up. */
  heal(): void {
    this.#isCut = false
    for (const { node, database } of this.#pairs) {
      if (node.destroyed) database.destroy()
      if (database.destroyed) node.destroy()
      node.resume()
      database.resume()
    }
  }

  /** Loses the connection of the next commit that stores this text. Resolves when it has. */
  loseCommit(part: LostPart, containing: string): Promise<void> {
    return new Promise((resolve) => (this.#nextLoss = { part, containing, done: resolve }))
  }

  close(): Promise<void> {
    return this.#close()
  }

  #dropAll(): void {
    for (const { node, database } of this.#pairs) {
      node.destroy()
      database.destroy()
    }
  }

  #carry(node: Socket, databasePort: number): void {
    const database = connect(databasePort, '127.0.0.1')
    const pair: Pair = { node, database, request: NOTHING, answer: NOTHING }
    this.#pairs.add(pair)
    for (const [socket, other] of [
      [node, database],
      [database, node],
    ] as const) {
      // prettier-ignore
      socket.setNoDelay()
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        if (node.destroyed && database.destroyed) this.#pairs.delete(pair)
        else if (!this.#isCut) other.destroy()
      })
    }
    node.on('data', (bytes: Buffer) => this.#request(pair, bytes))
    database.on('data', (bytes: Buffer) => this.#answer(pair, bytes))
    if (this.#isCut) database.pause()
    else node.resume()
  }

  #request(pair: Pair, bytes: Buffer): void {
    const loss = this.#nextLoss
    if (loss !== undefined) {
      pair.request = Buffer.concat([pair.request, bytes])
      if (pair.request.includes(BIND_COMMIT) && pair.request.includes(loss.containing)) {
        pair.loses = loss.part
        if (loss.part === 'request') return this.#lose(pair)
      }
    }
    pair.database.write(bytes)
  }

  #answer(pair: Pair, bytes: Buffer): void {
    pair.request = NOTHING
    if (pair.loses === undefined) return void pair.node.write(bytes)
    pair.answer = Buffer.concat([pair.answer, bytes])
    if (!pair.answer.subarray(-READY.length).equals(READY)) return
    if (pair.loses === 'answer') return this.#lose(pair)
    this.cut()
    this.#lost()
  }

  #lose({ node, database }: Pair): void {
    node.destroy()
    database.destroy()
    this.#lost()
  }

  #lost(): void {
    this.#nextLoss?.done()
    this.#nextLoss = undefined
  }
}
