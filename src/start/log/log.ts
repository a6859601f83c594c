// The log, as text or as JSON, to stdout and, with --debug, completely to a file. pino writes the JSON and is loaded
// only for it (about 16 ms and 2 MiB).
import { accessFields, accessLine, type AccessEntry } from './access-log.ts'
import { LineBuffer, type LineStream } from './line-buffer.ts'
import { openPrivateFile } from './private-file.ts'
import type { Options } from '../options/options.ts'

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

export type LogFields = Readonly<Record<string, unknown>> & { readonly requestId?: string }

export type Log = {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  /** A line for people, such as one of the banner: as severe as info, but without time and level. */
  say(line: string): void
  /** A line that tools wait for: the same, but --silent prints it, too. */
  announce(line: string): void
  /** undefined if the access log is off, so that callers need not create entries. */
  readonly access: ((entry: AccessEntry) => void) | undefined
  /** Goes on in a new --debug file, after a program that rotates logs has renamed it. */
  reopen(): void
  /** Flushes everything and ends the debug file. */
  close(): Promise<void>
}

export type LogSettings = {
  readonly options: Pick<Options, 'silent' | 'log' | 'logLevel' | 'debug'>
  readonly stdout: LineStream
  readonly clock: () => number
}

/** Formats entries for one stream. */
type Writer = {
  log(level: LogLevel, message: string, fields: LogFields | undefined): void
  say(line: string): void
  access(entry: AccessEntry): void
}

const DEBUG_LOG = { what: 'the debug log', flag: '--debug' }

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 }

export async function openLog({ options, stdout, clock }: LogSettings): Promise<Log> {
  const makeWriter = options.log === 'json' ? await jsonWriters(clock) : textWriters(clock)
  const droppedLine = (count: number): string => {
    const msg = `${count} log lines were dropped`
    return options.log === 'json' ? JSON.stringify({ level: 'warn', msg }) : msg
  }
  const out = new LineBuffer(stdout, droppedLine)
  const screen = makeWriter(out)
  // A full disk ends the file, not the server.
  const failed = (error: unknown): void => screen.log('error', 'the debug log has ended', { error })
  const debugFile =
    options.debug === undefined
      ? undefined
      : await openPrivateFile(options.debug, DEBUG_LOG, failed)
  const outMin = SEVERITY[options.silent ? 'error' : options.logLevel]
  const file = debugFile && new LineBuffer(debugFile, droppedLine)
  const debug = file === undefined ? undefined : makeWriter(file)

  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (SEVERITY[level] >= outMin) screen.log(level, message, fields)
      debug?.log(level, message, fields)
    }
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    say: (line) => {
      if (SEVERITY.info >= outMin) screen.say(line)
      debug?.say(line)
    },
    announce: (line) => {
      if (SEVERITY.info >= SEVERITY[options.logLevel]) screen.say(line)
      debug?.say(line)
    },
    access: accessWriter(SEVERITY.info >= outMin ? screen : undefined, debug),
    reopen: () => debugFile?.reopen(),
    close: async () => {
      out.flush()
      file?.flush()
      await debugFile?.end()
    },
  }
}

function accessWriter(screen: Writer | undefined, debug: Writer | undefined): Log['access'] {
  const writers = [screen, debug].filter((writer) => writer !== undefined)
  if (writers.length === 0) return undefined
  return (entry) => {
    for (const writer of writers) writer.access(entry)
  }
}

/** `2026-11-15T21:59:00.000Z <request id or -> info: message`, like Azurite's debug log. */
function textWriters(clock: () => number): (lines: LineBuffer) => Writer {
  return (lines) => ({
    log: (level, message, fields) => {
      const { requestId = '-', ...rest } = fields ?? {}
      const tail = Object.entries(rest).map(([name, value]) => ` ${name}=${textValue(value)}`)
      const time = new Date(clock()).toISOString()
      lines.write(`${time} ${requestId} ${level}: ${oneLine(message)}${tail.join('')}`)
    },
    say: (line) => lines.write(line),
    access: (entry) => lines.write(accessLine(entry)),
  })
}

function textValue(value: unknown): string {
  if (value instanceof Error) return (value.stack ?? value.message).replaceAll(/\n\s*/g, '\n    ')
  return typeof value === 'string' ? oneLine(value) : (JSON.stringify(value) ?? 'undefined')
}

/** Text from a client must not look like a log line of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ')
}

async function jsonWriters(clock: () => number): Promise<(lines: LineBuffer) => Writer> {
  const { pino } = await import('pino')
  return (lines) => {
    const logger = pino(
      {
        level: 'debug',
        base: null,
        timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
        formatters: { level: (level) => ({ level }) },
        serializers: { error: pino.stdSerializers.err },
      },
      { write: (line) => lines.write(line.trimEnd()) },
    )
    return {
      log: (level, message, fields) => logger[level](fields ?? {}, message),
      say: (line) => logger.info(line),
      access: (entry) => logger.info(accessFields(entry), 'request'),
    }
  }
}
