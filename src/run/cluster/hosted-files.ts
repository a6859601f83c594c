// The lifetime of the File service on one of several nodes. It starts when the node becomes the home of the files and
// stops when it no longer is, so nothing in memory outlives the role: sessions, handles, volatile records, copies.
import type { Socket } from 'node:net'
import type { Exchange, RequestHandler } from '../../http/protocol/exchange.ts'
import type { FilesHome } from '../../node/home.ts'
import type { RelayedClient } from '../../node/relayed-client.ts'
import type { SourceFiles } from '../../rest/file/copy/source.ts'
import type { FileService } from '../../rest/file/service.ts'
import type { SmbView } from '../../smb/view.ts'

/** The service between a start and a stop. */
export type StartedFiles = {
  readonly handler: RequestHandler
  readonly service: FileService
  readonly source: SourceFiles
  /** Undefined if the shares are not offered over SMB. */
  readonly smbView: SmbView | undefined
  acceptSmb(socket: Socket, client?: RelayedClient): void
  /** Ends all SMB connections. */
  dropSmb(): Promise<void>
  stopCopies(): Promise<void>
  stop(): Promise<void>
}

export type HostSettings = {
  readonly home: FilesHome
  /** Starts the service. It has restored persistent opens and resumed copies when the promise resolves. */
  start(): Promise<StartedFiles>
  /** Ends all connections to the file port. */
  dropConnections(): void
  /** Answers requests while the service is not running. */
  readonly busy: RequestHandler
  /** A failed start is repeated after a while. */
  readonly after: (delayMs: number, then: () => unknown) => () => void
  report(error: unknown): void
}

const RETRY_MS = 1_000

/** One period as the home. */
type Life = {
  readonly epoch: number
  files: StartedFiles | undefined
  isOver: boolean
  /** The end of the latest attempt to start. */
  starting: Promise<void>
  cancelRetry: () => void
}

/** A class, because it has a lifetime. */
export class HostedFiles {
  readonly handler: RequestHandler
  readonly #settings: HostSettings
  readonly #stopListening: () => void
  #life: Life | undefined
  /** The end of the previous life: the next one begins after it. */
  #ended: Promise<void> = Promise.resolve()

  constructor(settings: HostSettings) {
    this.#settings = settings
    this.handler = {
      handle: (exchange) => {
        const life = this.#life
        if (life === undefined) return settings.busy.handle(exchange)
        return life.files?.handler.handle(exchange) ?? this.#handleLater(life, exchange)
      },
      logFault: (error, requestId) => settings.busy.logFault(error, requestId),
    }
    this.#stopListening = settings.home.listen(() => this.#follow())
    this.#follow()
  }

  /** The service, if it is running. */
  get files(): StartedFiles | undefined {
    return this.#life?.files
  }

  /** Closes the connection if the service is not running. */
  acceptSmb(socket: Socket, client?: RelayedClient): void {
    const life = this.#life
    socket.on('error', () => socket.destroy())
    const accept = (): void => {
      if (life?.files === undefined || life.isOver) socket.destroy()
      else life.files.acceptSmb(socket, client)
    }
    if (life === undefined || life.files !== undefined) accept()
    else void life.starting.then(accept)
  }

  async close(): Promise<void> {
    this.#stopListening()
    this.#end()
    await this.#ended
  }

  #follow(): void {
    const { home } = this.#settings
    const isHere = home.place() === 'here'
    // A node may lose the role and get it back between two heartbeats; somebody else may have had it meanwhile.
    if (!isHere || this.#life?.epoch !== home.epoch()) this.#end()
    if (isHere && this.#life === undefined) this.#begin(home.epoch())
  }

  #begin(epoch: number): void {
    const life: Life = {
      epoch,
      files: undefined,
      isOver: false,
      starting: this.#ended,
      cancelRetry: () => {},
    }
    this.#life = life
    life.starting = this.#ended.then(() => this.#start(life))
  }

  async #start(life: Life): Promise<void> {
    if (life.isOver) return
    try {
      const files = await this.#settings.start()
      if (life.isOver) await files.stop()
      else life.files = files
    } catch (error) {
      this.#settings.report(error)
      if (life.isOver) return
      life.cancelRetry = this.#settings.after(RETRY_MS, () => {
        life.starting = this.#start(life)
      })
    }
  }

  #end(): void {
    const life = this.#life
    if (life === undefined) return
    this.#life = undefined
    life.isOver = true
    life.cancelRetry()
    this.#settings.dropConnections()
    this.#ended = life.starting
      .then(() => life.files?.stop())
      .catch((error: unknown) => this.#settings.report(error))
  }

  /** Requests wait for a start in progress. */
  async #handleLater(life: Life, exchange: Exchange): Promise<void> {
    await life.starting
    const handler = life.isOver ? undefined : life.files?.handler
    await (handler ?? this.#settings.busy).handle(exchange)
  }
}
