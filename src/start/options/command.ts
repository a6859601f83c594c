// Decodes the command line. The same program is `lazuli` and, for containers and tools that start it by name,
// `azurite`, `azurite-blob`, `azurite-queue` and `azurite-table`.
import { basename, resolve } from 'node:path'
import { readConfigFile, type ConfigFile } from './config-file.ts'
import { decodeOptions, type DecodedOptions, type Env } from './decode-options.ts'
import { COMMAND_FLAGS, decodeFlags, type CommandFlag, type Flags } from './flags.ts'
import { helpText } from './help.ts'
import { bytesFolder, isPostgresUrl, type Options } from './options.ts'
import { connectHost, urlOf } from '../host.ts'
import { usageError } from '../start-error.ts'
import { STEER_COMMANDS, type SteerCommand, type SteerName } from '../steer/names.ts'

/** What listens on a port of its own. */
export type EndpointName = 'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb'

/** The services that each program starts. */
const PROGRAMS = {
  lazuli: ['blob', 'queue', 'table', 'file', 'dfs', 'smb'],
  azurite: ['blob', 'queue', 'table', 'file', 'dfs', 'smb'],
  'azurite-blob': ['blob'],
  'azurite-queue': ['queue'],
  'azurite-table': ['table'],
} as const satisfies Record<string, readonly EndpointName[]>

export type Program = keyof typeof PROGRAMS

export type StartCommand = DecodedOptions & {
  readonly kind: 'start'
  readonly program: Program
  readonly services: readonly EndpointName[]
  /** The path of lazuli.json, even if it does not exist: it may be created later, with accounts. */
  readonly configPath: string
}

export type CopyCommand = {
  readonly kind: 'copy'
  readonly from: StoreName
  readonly to: StoreName
}

/** A store on the command line: a folder, or a database and maybe the folder with its content. */
export type StoreName =
  { readonly folder: string } | { readonly url: string; readonly bytesFolder: string | undefined }

export type Command =
  | StartCommand
  | (DecodedOptions & { readonly kind: 'health' })
  | (DecodedOptions & { readonly kind: 'fsck' })
  | (DecodedOptions & { readonly kind: 'nodes'; readonly store: string; readonly asJson: boolean })
  | CopyCommand
  | (SteerCommand & { readonly kind: 'steer' })
  | { readonly kind: 'print'; readonly text: string }

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
  if (flags.command.has('help')) return { kind: 'print', text: helpText(program) }
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
    return { kind, program, services: PROGRAMS[program], configPath, ...decoded }
  if (isSteerName(kind)) return decodeSteer(kind, flags, decoded.options, cwd)
  if (kind !== 'nodes') return { kind, ...decoded }
  const { store } = decoded.options
  if (store === undefined)
    throw usageError('lazuli nodes needs --store postgres://user@host/database')
  return { kind, ...decoded, store, asJson: flags.command.has('json') }
}

/** The settings say where the server's admin port is, and which token it asks for. */
function decodeSteer(
  name: SteerName,
  { words: [, ...words], command }: Flags,
  { adminHost, adminPort, controlToken: token }: Options,
  cwd: string,
): Command {
  const fields = [...command].filter(([flag]) => STEER_FIELDS.has(flag))
  const adminUrl = command.get('adminUrl') ?? urlOf('http', connectHost(adminHost), adminPort)
  if (!/^https?:\/\//.test(adminUrl) || !URL.canParse(adminUrl))
    throw usageError(`--adminUrl must be a URL such as http://127.0.0.1:10010, not ${adminUrl}`)
  return {
    kind: 'steer',
    name,
    words,
    fields: new Map(fields),
    follow: command.has('follow'),
    asJson: command.has('json'),
    adminUrl,
    token,
    cwd,
  }
}

/** The others are not sent to the server. */
const STEER_FIELDS: ReadonlySet<CommandFlag> = new Set<CommandFlag>([
  'conflicts',
  'resource',
  'operation',
  'client',
  'status',
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

function checkFlags(kind: CommandKind, flags: Flags): void {
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

function isProgram(name: string): name is Program {
  return Object.hasOwn(PROGRAMS, name)
}

const KINDS = ['start', 'health', 'nodes', 'fsck', 'copy', ...STEER_COMMANDS] as const

type CommandKind = (typeof KINDS)[number]

function decodeKind(program: Program, words: readonly string[]): CommandKind {
  const [word = 'start', more] = words
  const known = program === 'lazuli' ? KINDS : (['start'] as const)
  const kind = known.find((each) => each === word)
  if (kind === undefined) throw usageError(`unknown command ${word}; expected ${known.join(', ')}`)
  if (more !== undefined && !isSteerName(kind))
    throw usageError(`unexpected argument ${more}; see --help`)
  return kind
}

function isSteerName(kind: CommandKind): kind is SteerName {
  return STEER_COMMANDS.some((each) => each === kind)
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
