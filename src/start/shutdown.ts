// Stops a running server on SIGINT, SIGTERM or, as in Azurite, the message 'shutdown' from the parent process. The
// first signal lets the server finish its requests; a second one ends it at once. SIGHUP does the same in a terminal, which
// was closed. Without one, the server then reopens its log files and reads its certificates again.

export const SHUTDOWN_GRACE_MS = 30_000

/** The part of `process` that is needed here. */
export type SignalSource = {
  on(event: string, listener: (...args: unknown[]) => void): unknown
  off(event: string, listener: (...args: unknown[]) => void): unknown
}

export type Shutdown = {
  readonly process: SignalSource
  /** Finishes requests in flight, then closes everything. Called once. */
  readonly close: () => Promise<void>
  readonly exit: (code: number) => void
  readonly hasTerminal: boolean
  /** Goes on in new log files, with changed certificates. */
  readonly reload: () => void
  /** Called if the shutdown fails. */
  readonly report: (message: string) => void
  /** A client that never finishes must not block the shutdown. */
  readonly graceMs?: number
}

// By convention of shells: 128 plus the signal's number.
const EXIT_CODES: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** Returns a function that removes the listeners, for a server that is closed in another way. */
export function onShutdown(shutdown: Shutdown): () => void {
  let stopping = false
  const stop = (reason: string): void => {
    if (stopping) {
      shutdown.exit(EXIT_CODES[reason] ?? 1)
      return
    }
    stopping = true
    void closeAndExit(shutdown)
  }
  const onInterrupt = (): void => stop('SIGINT')
  const onTerminate = (): void => stop('SIGTERM')
  const onHangUp = (): void => (shutdown.hasTerminal ? stop('SIGHUP') : shutdown.reload())
  const onMessage = (message: unknown): void => {
    if (message === 'shutdown') stop('message')
  }
  const listeners = [
    ['SIGINT', onInterrupt],
    ['SIGTERM', onTerminate],
    ['SIGHUP', onHangUp],
    ['message', onMessage],
  ] as const
  for (const [event, listener] of listeners) shutdown.process.on(event, listener)
  return () => {
    for (const [event, listener] of listeners) shutdown.process.off(event, listener)
  }
}

async function closeAndExit({ close, exit, report, graceMs }: Shutdown): Promise<void> {
  const limitMs = graceMs ?? SHUTDOWN_GRACE_MS
  const late = setTimeout(() => {
    report(`requests were still in flight after ${limitMs / 1000} s; stopping without them`)
    exit(1)
  }, limitMs)
  try {
    await close()
    exit(0)
  } catch (error) {
    report(`did not close cleanly: ${error instanceof Error ? error.message : String(error)}`)
    exit(1)
  } finally {
    clearTimeout(late)
  }
}
