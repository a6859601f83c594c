// Decodes the command line. The same program is `lazuli` and, for containers and tools that start it by name,
// `azurite`, `azurite-blob`, `azurite-queue` and `azurite-table`.
import { basename, resolve } from 'node:path'
import { readConfigFile, type ConfigFile } from './config-file.ts'
import { decodeOptions, type DecodedOptions, type Env } from './decode-options.ts'
import { COMMAND_FLAGS, decodeFlags, type CommandFlag, type Flags } from './flags.ts'
import { COMMANDS, isSteerName, type CommandName } from './commands.ts'
import { bytesFolder, isPostgresUrl, type Options } from './options.ts'
import { findAdmin } from '../admin/find-admin.ts'
import { nearestName } from './nearest.ts'
import { isProgram, servicesOf, type Program, type ServiceName } from './services.ts'
import { usageError } from '../start-error.ts'
import { locationPath } from '../store/location.ts'
import { decodeTorture, type TortureCommand } from './torture-command.ts'
import { type SteerCommand, type SteerName } from '../steer/names.ts'

export type StartCommand = DecodedOptions & {
  readonly kind: 'start'
  readonly program: Program
  readonly services: readonly ServiceName[]
  /** The path of lazuli.json, even if it does not exist: it may be created later, with accounts. */
  readonly configPath: string
}

export type CopyCommand = {
  readonly kind: 'copy'
  readonly from: StoreName
  readonly to: StoreName
}

export type FsckCommand = DecodedOptions & {
  readonly kind: 'fsck'
  readonly repairs: boolean
  readonly asJson: boolean
}

export type BackupCommand = {
  readonly kind: 'backup'
  /** An absolute path. */
  readonly place: string
  /** Only checks the backup that is there. */
  readonly isCheck: boolean
  readonly location: string
  /** Of the server that runs on the data folder. */
  readonly adminUrl: string
  /** The admin port was given on the command line: the folder may be on another machine. */
  readonly asksServer: boolean
  readonly token: string | undefined
}

export type RestoreCommand = {
  readonly kind: 'restore'
  /** An absolute path. */
  readonly from: string
  readonly to: StoreName
  readonly acceptsDamage: boolean
}

export type HelpCommand = {
  readonly kind: 'help'
  readonly program: Program
  /** undefined: about all of them. */
  readonly command: CommandName | undefined
}

/** A store on the command line: a folder, or a database and maybe the folder with its content. */
export type StoreName =
  { readonly folder: string } | { readonly url: string; readonly bytesFolder: string | undefined }

/** `lazuli import azurite DIR` */
export type ImportCommand = DecodedOptions & {
  readonly kind: 'import'
  readonly from: string
}

export type Command =
  | ImportCommand
  | StartCommand
  | (DecodedOptions & { readonly kind: 'health' })
  | FsckCommand
  | (DecodedOptions & { readonly kind: 'nodes'; readonly store: string; readonly asJson: boolean })
  | CopyCommand
  | BackupCommand
  | RestoreCommand
  | (SteerCommand & { readonly kind: 'steer' })
  | (TortureCommand & { readonly kind: 'torture' })
  | { readonly kind: 'print'; readonly text: string }
  | HelpCommand

export type CommandLine = {
  /** process.argv */
  readonly argv: readonly string[]
  readonly env: Env
  readonly cwd: string
  readonly version: string
}

export function decodeCommand({ argv, env, cwd, version }: CommandLine): Command {
  const program = programOf(argv[1] ?? '')
  const flags = decodeFlags(argv.slice(2))
  const help = decodeHelp(program, flags)
  if (help !== undefined) return help
  if (flags.command.has('version')) return { kind: 'print', text: version }
  const kind = decodeKind(program, flags.words)
  checkFlags(kind, flags)
  if (kind === 'copy') return decodeCopy(flags, cwd)
  const configPath = resolve(
    cwd,
    flags.command.get('config') ?? (env.LAZULI_CONFIG || 'lazuli.json'),
  )
  const file = readConfig(configPath, flags, env)
  const decoded = decodeOptions({ flags: flags.settings, env, file })
  if (kind === 'start')
    return {
      kind,
      program,
      services: servicesOf(program, decoded.options.services),
      configPath,
      ...decoded,
    }
  if (kind === 'torture') return { kind, ...decodeTorture(flags, decoded, cwd) }
  if (isSteerName(kind)) return decodeSteer(kind, flags, decoded, cwd)
  if (kind === 'backup') return decodeBackup(flags, decoded, cwd)
  if (kind === 'restore') return decodeRestore(flags, decoded.options, cwd)
  if (kind === 'import') return decodeImport(flags, decoded, cwd)
  if (kind === 'fsck') return { kind, ...decoded, ...decodeFsck(flags, decoded.options) }
  if (kind === 'health') return { kind, ...decoded }
  const { store } = decoded.options
  if (store === undefined)
    throw usageError('lazuli nodes needs --store postgres://user@host/database')
  return { kind, ...decoded, store, asJson: flags.command.has('json') }
}

/** The settings and the data folder say where the server's admin port is, and which token it asks for. */
function decodeSteer(
  name: SteerName,
  { words: [, ...words], command }: Flags,
  decoded: DecodedOptions,
  cwd: string,
): Command {
  const fields = [...command].filter(([flag]) => STEER_FIELDS.has(flag))
  return {
    kind: 'steer',
    name,
    words,
    fields: new Map(fields),
    follow: command.has('follow'),
    asJson: command.has('json'),
    ...decodeAdmin(command, decoded, cwd),
    cwd,
  }
}

function decodeFsck({ command }: Flags, { store }: Options) {
  const repairs = command.has('repair')
  if (repairs && store !== undefined)
    throw usageError(
      'lazuli fsck --repair needs a data folder; lazuli copy brings a database into one',
    )
  return { repairs, asJson: command.has('json') }
}

/** Which server a command asks, and with which token. */
function decodeAdmin(
  command: Flags['command'],
  decoded: DecodedOptions,
  cwd: string,
): { readonly adminUrl: string; readonly token: string | undefined } {
  const adminUrl = command.get('adminUrl')?.split('\n').at(-1)
  if (adminUrl === undefined) {
    const { url, token } = findAdmin(decoded, cwd)
    return { adminUrl: url, token }
  }
  if (!/^https?:\/\//.test(adminUrl) || !URL.canParse(adminUrl))
    throw usageError(`--adminUrl must be a URL such as http://127.0.0.1:10010, not ${adminUrl}`)
  return { adminUrl, token: decoded.options.controlToken }
}

function decodeBackup(
  { words, command }: Flags,
  decoded: DecodedOptions,
  cwd: string,
): BackupCommand {
  const { location, store, inMemoryPersistence } = decoded.options
  const [, place] = words
  if (place === undefined) throw usageError('lazuli backup needs a folder or a .tar file')
  const isCheck = command.has('verify')
  if (store !== undefined && !isCheck) throw usageError(NO_DATABASE_BACKUP)
  if (inMemoryPersistence && !isCheck)
    throw usageError(
      'lazuli backup needs a data folder; use lazuli export with --inMemoryPersistence',
    )
  return {
    kind: 'backup',
    place: resolve(cwd, place),
    isCheck,
    location: locationPath(location, cwd),
    ...decodeAdmin(command, decoded, cwd),
    asksServer: command.has('adminUrl'),
  }
}

const NO_DATABASE_BACKUP =
  'lazuli backup is for data folders. Back up a database with pg_basebackup and its WAL, and --bytes folder:PATH with a snapshot of the file system; see docs/operations.md'

function decodeRestore({ words, command }: Flags, options: Options, cwd: string): RestoreCommand {
  const [, from] = words
  if (from === undefined) throw usageError('lazuli restore needs a folder or a .tar file')
  const { store: url, bytes, location } = options
  const folder = bytesFolder(bytes)
  const to =
    url === undefined
      ? { folder: locationPath(location, cwd) }
      : { url, bytesFolder: folder && resolve(cwd, folder) }
  const acceptsDamage = command.has('acceptDamage')
  return { kind: 'restore', from: resolve(cwd, from), to, acceptsDamage }
}

/** The others are not sent to the server. */
const STEER_FIELDS: ReadonlySet<CommandFlag> = new Set<CommandFlag>([
  'conflicts',
  'resource',
  'operation',
  'client',
  'status',
  'since',
  'countMax',
  'expectNoRaces',
  'account',
  'service',
  'container',
])

/** Settings are those of a server, and a copy has two stores: it gets all from its own flags. */
function decodeCopy(flags: Flags, cwd: string): CopyCommand {
  const [setting] = flags.settings.keys()
  if (setting !== undefined)
    throw usageError(`lazuli copy has no --${setting}; use --from and --to`)
  return { kind: 'copy', from: decodeStore(flags, 'from', cwd), to: decodeStore(flags, 'to', cwd) }
}

function decodeImport({ words }: Flags, decoded: DecodedOptions, cwd: string): ImportCommand {
  const [, format, from] = words
  if (format !== 'azurite' || from === undefined)
    throw usageError('the command is lazuli import azurite FOLDER [--location FOLDER]')
  const { store, inMemoryPersistence } = decoded.options
  if (store !== undefined)
    throw usageError('import into a folder (--location), then move it with lazuli copy --to postgres://…') // prettier-ignore
  if (inMemoryPersistence) throw usageError('an import into memory would be lost; use --location')
  return { kind: 'import', from: resolve(cwd, from), ...decoded }
}

function decodeStore({ command }: Flags, flag: 'from' | 'to', cwd: string): StoreName {
  const bytesFlag = `${flag}Bytes` as const
  const [text, bytes] = [command.get(flag), command.get(bytesFlag)]
  if (text === undefined) throw usageError(`lazuli copy needs --${flag}: a folder or postgres://…`)
  if (!isPostgresUrl(text) && bytes !== undefined) {
    throw usageError(`--${bytesFlag} can only be used if --${flag} is a database`)
  }
  if (!isPostgresUrl(text)) return { folder: resolve(cwd, text) }
  const folder = bytesFolder(bytes)
  if (folder === undefined && bytes !== undefined && bytes !== 'postgres') {
    throw usageError(`--${bytesFlag} must be postgres or folder:PATH`)
  }
  return { url: text, bytesFolder: folder && resolve(cwd, folder) }
}

function checkFlags(kind: CommandName, flags: Flags): void {
  for (const name of flags.command.keys()) {
    const row = COMMAND_FLAGS[name]
    if ('of' in row && !row.of.some((each) => each === kind))
      throw usageError(`--${name} can only be used with lazuli ${row.of.join(', ')}`)
  }
}

/** The name that the program was started by: npm links all commands of a package to the same file. */
export function programOf(path: string): Program {
  const name = basename(path).replace(/\.(c|m)?(js|ts|cmd|exe)$/i, '')
  return isProgram(name) ? name : 'lazuli'
}

/** How many words follow the command; those of a running server decode their own. */
const WORDS_MAX: Partial<Record<CommandName, number>> = { backup: 1, restore: 1, import: 2 }

/** `lazuli --help`, `lazuli help`, `lazuli backup --help`, `lazuli help backup`. */
function decodeHelp(program: Program, { words, command }: Flags): HelpCommand | undefined {
  const isWord = program === 'lazuli' && words[0] === 'help'
  if (!isWord && !command.has('help')) return undefined
  const [word] = isWord ? words.slice(1) : words
  return {
    kind: 'help',
    program,
    command: word === undefined ? undefined : commandOf(program, word),
  }
}

function decodeKind(program: Program, words: readonly string[]): CommandName {
  const [word = 'start', ...rest] = words
  const kind = commandOf(program, word)
  const more = isSteerName(kind) ? undefined : rest[WORDS_MAX[kind] ?? 0]
  if (more !== undefined) throw usageError(`unexpected argument ${more}; see lazuli ${kind} --help`)
  return kind
}

function commandOf(program: Program, word: string): CommandName {
  const known = program === 'lazuli' ? COMMANDS : (['start'] as const)
  const kind = known.find((each) => each === word)
  if (kind !== undefined) return kind
  const near = nearestName(word, known)
  const hint = near === undefined ? `expected ${known.join(', ')}` : `did you mean ${near}?`
  throw usageError(`unknown command ${word}; ${hint}`)
}

function readConfig(path: string, flags: Flags, env: Env): ConfigFile | undefined {
  const file = readConfigFile(path)
  const isGiven = flags.command.has('config') || (env.LAZULI_CONFIG ?? '') !== ''
  if (file === undefined && isGiven) {
    const place = !flags.command.has('config') ? 'LAZULI_CONFIG' : '--config'
    throw usageError(`the config file ${path} does not exist; check ${place}`)
  }
  return file
}
