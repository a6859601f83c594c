// A connection to PostgreSQL. A connection that is lost, refused or silent surfaces as `DatabaseUnavailable` within five
// seconds and is never used again. The only file that imports pg.
import { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import pg from 'pg'
import { Copy } from './copy.ts'
import { passwordFromFile } from './password-file.ts'
import { settingsText, type ConnectionSettings, type HostAddress } from './settings.ts'
import { tlsAttempts } from './tls.ts'

/** Time for a call: waiting for a connection, opening it, and running a statement. */
export const CALL_MS_MAX = 5_000
/** Time after which the server cancels a statement: less, so that it has ended when the call fails. */
export const STATEMENT_MS_MAX = 4_000

const SERVER_VERSION_MIN = 150_000

/** The database can't be reached, is shutting down, or is too slow. The same call may succeed later. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
  /** Whether the statement may have been executed. */
  readonly isOutcomeUnknown: boolean

  constructor(message: string, isOutcomeUnknown: boolean, cause?: unknown) {
    super(message, { cause })
    this.isOutcomeUnknown = isOutcomeUnknown
  }
}

/** A prepared statement. */
export type Statement = { readonly name: string; readonly text: string }

/** Buffers are sent in binary format. */
export type Parameter = Buffer | string | number | undefined

/** Values in text format. The driver's binary format is broken: it decodes bytes as UTF-8. */
export type Row = readonly (string | null)[]

/** Shared by the connections of a pool. */
export type StatementCount = { statements: number }

const NOTHING = new Uint8Array(0)

export class Connection {
  readonly #client: pg.Client
  readonly #socket: Socket
  readonly #count: StatementCount
  #isOpen = true

  constructor(client: pg.Client, socket: Socket, count: StatementCount) {
    this.#client = client
    this.#socket = socket
    this.#count = count
    // Also emitted while no statement is running. Without listeners it would end the process.
    client.on('error', () => this.destroy())
    client.on('end', () => this.destroy())
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Fails at `deadlineMs`, on the clock of `performance.now()`. */
  async run(
    statement: Statement,
    values: readonly Parameter[],
    deadlineMs: number,
  ): Promise<readonly Row[]> {
    const { rows } = await this.#query({ ...statement, values: [...values] }, deadlineMs)
    return rows
  }

  /** Runs a COPY … FROM STDIN whose whole input is `input`. */
  async copyFrom(text: string, input: Uint8Array, deadlineMs: number): Promise<void> {
    await this.#copy(new Copy(text, input, () => {}), deadlineMs)
  }

  /** Runs a COPY … TO STDOUT and passes each row on. The row's memory is valid only during the call. */
  async copyTo(text: string, receive: (row: Buffer) => void, deadlineMs: number): Promise<void> {
    await this.#copy(new Copy(text, NOTHING, receive), deadlineMs)
  }

  async #copy(copy: Copy, deadlineMs: number): Promise<void> {
    await this.#within(deadlineMs, () => this.#client.query(copy).done)
  }

  /** Runs several statements without parameters. They are one transaction, unless they say otherwise. */
  async script(text: string, deadlineMs: number): Promise<void> {
    await this.#query({ text }, deadlineMs)
  }

  async #query(
    query: { readonly text: string; readonly name?: string; values?: Parameter[] },
    deadlineMs: number,
  ): Promise<pg.QueryArrayResult<(string | null)[]>> {
    return this.#within(deadlineMs, () =>
      this.#client.query<(string | null)[]>({ ...query, rowMode: 'array' }),
    )
  }

  async #within<T>(deadlineMs: number, query: () => Promise<T>): Promise<T> {
    if (!this.#isOpen) throw new DatabaseUnavailable('The connection is closed.', false)
    this.#count.statements += 1
    const timer = setTimeout(() => this.destroy(), deadlineMs - performance.now())
    try {
      return await query()
    } catch (error) {
      throw this.#unavailable(error) ?? error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Undefined for errors that are our own mistakes. */
  #unavailable(error: unknown): DatabaseUnavailable | undefined {
    const code = sqlState(error)
    if (code !== undefined && !isFatal(code)) {
      return isBusy(code) ? new DatabaseUnavailable(messageOf(error), false, error) : undefined
    }
    this.destroy()
    return new DatabaseUnavailable(messageOf(error), true, error)
  }

  /** Drops what was not sent yet, so that the server can't receive it later. */
  destroy(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    // A Unix socket can't be reset; it has nothing in transit. Nor can one that is being shut down: Node would keep it open
    // forever, and the process could not exit.
    const canReset = this.#socket.remoteAddress !== undefined && !this.#socket.writableEnded
    if (canReset) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#client.end()
  }
}

/** https://www.postgresql.org/docs/15/errcodes-appendix.html */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof pg.DatabaseError ? error.code : undefined
  return code ?? undefined
}

/** The server ends the session (57P…) or the connection failed (08…): the statement may have been executed. */
function isFatal(code: string): boolean {
  return code.startsWith('57P') || code.startsWith('08')
}

/**
 * The server has rolled the statement back: it was cancelled (57014), waited too long for a lock (55P03), ran out of
 * resources (53…), or the server is no longer the primary (25006).
 */
function isBusy(code: string): boolean {
  return ['57014', '55P03', '25006'].includes(code) || code.startsWith('53')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Connects to the first host that is a primary. Fails at `deadlineMs`. */
export async function connect(
  settings: ConnectionSettings,
  count: StatementCount,
  deadlineMs: number,
): Promise<Connection> {
  const failures: string[] = []
  for (const address of settings.hosts) {
    try {
      return await connectTo(address, settings, count, deadlineMs)
    } catch (error) {
      failures.push(messageOf(error))
    }
  }
  const what = `Can't connect to ${settingsText(settings)}: ${failures.join('; ')}`
  throw new DatabaseUnavailable(what, false)
}

async function connectTo(
  address: HostAddress,
  settings: ConnectionSettings,
  count: StatementCount,
  deadlineMs: number,
): Promise<Connection> {
  const attempts = await tlsAttempts(address.host, settings)
  const failures: string[] = []
  for (const ssl of attempts) {
    try {
      return await open(address, ssl, settings, count, deadlineMs)
    } catch (error) {
      failures.push(messageOf(error))
      // Another kind of connection won't help a wrong password.
      if (sqlState(error)?.startsWith('28P') === true) break
    }
  }
  throw new Error([...new Set(failures)].join('; '))
}

async function open(
  { host, port }: HostAddress,
  ssl: ConnectionOptions | false,
  settings: ConnectionSettings,
  count: StatementCount,
  deadlineMs: number,
): Promise<Connection> {
  const { user, database, applicationName, passwordFile } = settings
  const socket = new Socket()
  const client = new pg.Client({
    host,
    port,
    user,
    database,
    password: async () =>
      settings.password ??
      (await passwordFromFile(passwordFile, { host, port, user, database })) ??
      fail('the server asks for a password'),
    ssl,
    stream: () => socket,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: Math.max(1, deadlineMs - performance.now()),
    types: { getTypeParser: () => (text: string) => text },
  })
  const connection = new Connection(client, socket, count)
  try {
    await client.connect()
    const [row] = await connection.run(
      SET_UP,
      [String(settings.allowsAsyncCommit === true)],
      deadlineMs,
    )
    count.statements -= 1
    checkServer(row)
    return connection
  } catch (error) {
    connection.destroy()
    throw error
  }
}

function fail(message: string): never {
  throw new Error(message)
}

const KEEP_ALIVE_MS = 2_000

/**
 * Settings of a session. Statements run one at a time on rows that an index finds; the planner's statistics would only
 * make it choose worse plans. The server notices a vanished client, so that its locks don't stay.
 */
const SESSION: Readonly<Record<string, string>> = {
  statement_timeout: String(STATEMENT_MS_MAX),
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '60000',
  tcp_keepalives_idle: '2',
  tcp_keepalives_interval: '1',
  tcp_keepalives_count: '3',
  default_transaction_isolation: 'read committed',
  default_transaction_read_only: 'off',
  bytea_output: 'hex',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  max_parallel_workers_per_gather: '0',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  enable_memoize: 'off',
}

const SET_UP: Statement = {
  name: 'set_up',
  text: `SELECT pg_is_in_recovery(), current_setting('server_version_num'),
    -- Unless it was allowed to be off, an acknowledged commit is on disk, whatever the server's default.
    set_config('synchronous_commit', CASE WHEN $1 THEN current_setting('synchronous_commit')
      ELSE replace(current_setting('synchronous_commit'), 'off', 'on') END, false),
    ${Object.entries(SESSION)
      .map(([name, value]) => `set_config('${name}', '${value}', false)`)
      .join(', ')}`,
}

function checkServer([isInRecovery, version]: Row = []): void {
  if (Number(version) < SERVER_VERSION_MIN) throw new Error('PostgreSQL 15 or newer is needed.')
  if (isInRecovery !== 'f') throw new Error('The server is a standby; only a primary will do.')
}
