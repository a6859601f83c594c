// A proxy between nodes and PostgreSQL that fails as networks do: everything goes silent, or one connection is lost at a
// chosen moment of a commit, or of the n-th statement.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Bind of the prepared statement `commit`: the empty name of the portal, then that of the statement. */
const BIND_COMMIT = Buffer.from('\0commit\0')
/** ReadyForQuery outside of a transaction: the commit has been stored and all of its answer has been sent. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

const NOTHING = Buffer.alloc(0)

/** Sync or Query: the end of a statement, and its whole length. */
const STATEMENT_ENDS: ReadonlySet<number> = new Set([0x53, 0x51])

/** When the connection of a statement is lost. */
export type LostMoment =
  /** It does not reach the database. */
  | 'before'
  /** The database has it, and nobody waits for its answer. */
  | 'during'
  /** Its answer does not arrive. */
  | 'after'

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
  /** The part of a message whose rest has not arrived. */
  unfinished: Buffer
  /** The answer to the statement that is lost is not passed on. */
  isDoomed: boolean
}

type StatementLoss = { left: number; readonly moment: LostMoment }

type Loss = { readonly part: LostPart; readonly containing: string; done(): void }

export class DatabaseProxy {
  readonly port: number
  readonly #close: () => Promise<void>
  readonly #pairs = new Set<Pair>()
  #isCut = false
  #nextLoss: Loss | undefined
  #statementLoss: StatementLoss | undefined

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

  /** Loses the connection of the n-th statement from now on, whichever it is on. */
  loseStatement(nth: number, moment: LostMoment): void {
    this.#statementLoss = { left: nth, moment }
  }

  /** Whether it was lost; if not yet, it will not be. */
  endLoss(): boolean {
    const wasLost = this.#statementLoss === undefined
    this.#statementLoss = undefined
    return wasLost
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
    const pair: Pair = {
      node,
      database,
      request: NOTHING,
      answer: NOTHING,
      unfinished: NOTHING,
      isDoomed: false,
    }
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
    const moment = this.#lostMoment(pair, bytes)
    if (moment === 'before') return drop(pair)
    pair.database.write(bytes)
    if (moment === 'during') pair.database.end()
    if (moment === 'during') pair.node.destroy()
    if (moment === 'after') pair.isDoomed = true
  }

  /** Counts the statements in these bytes; undefined if none of them is the one to lose. */
  #lostMoment(pair: Pair, bytes: Buffer): LostMoment | undefined {
    const loss = this.#statementLoss
    if (loss === undefined) return undefined
    const before = loss.left
    loss.left -= countStatements(pair, bytes)
    if (before < 1 || loss.left > 0) return undefined
    this.#statementLoss = undefined
    return loss.moment
  }

  #answer(pair: Pair, bytes: Buffer): void {
    pair.request = NOTHING
    if (pair.isDoomed) {
      if (bytes.subarray(-READY.length).equals(READY)) drop(pair)
      return
    }
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

function drop({ node, database }: Pair): void {
  node.destroy()
  database.destroy()
}

/** Messages have a type and a length; the first one of a connection, which begins it, has no type and ends no statement. */
function countStatements(pair: Pair, bytes: Buffer): number {
  let rest = Buffer.concat([pair.unfinished, bytes])
  let count = 0
  while (rest.length >= 5) {
    const hasType = rest[0] !== 0
    const end = hasType ? 1 + rest.readUInt32BE(1) : rest.readUInt32BE(0)
    if (end > rest.length) break
    if (hasType && STATEMENT_ENDS.has(rest[0] ?? 0)) count += 1
    rest = rest.subarray(Math.max(end, 1))
  }
  pair.unfinished = rest
  return count
}
