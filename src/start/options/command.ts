// Decodes the command line. The same program is `lazuli` and, for containers and tools that start it by name,
// `azurite`, `azurite-blob`, `azurite-queue` and `azurite-table`.
import { basename, resolve } from 'node:path'
import { readConfigFile, type ConfigFile } from './config-file.ts'
import { decodeOptions, type DecodedOptions, type Env } from './decode-options.ts'
import { decodeFlags, type Flags } from './flags.ts'
import { helpText } from './help.ts'
import { usageError } from '../start-error.ts'

/** What listens on a port of its own. */
export type EndpointName = 'blob' | 'queue' | 'table' | 'file' | 'smb'

/** The services that each program starts. */
const PROGRAMS = {
  lazuli: ['blob', 'queue', 'table', 'file', 'smb'],
  azurite: ['blob', 'queue', 'table', 'file', 'smb'],
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

export type Command =
  | StartCommand
  | (DecodedOptions & { readonly kind: 'health' })
  | (DecodedOptions & { readonly kind: 'fsck' })
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
  if (flags.help) return { kind: 'print', text: helpText(program) }
  if (flags.version) return { kind: 'print', text: version }
  const kind = decodeKind(program, flags.words)
  const configPath = resolve(cwd, flags.config ?? (env.LAZULI_CONFIG || 'lazuli.json'))
  const file = readConfig(configPath, flags, env)
  const decoded = decodeOptions({ flags: flags.settings, env, file })
  if (kind === 'start')
    return { kind, program, services: PROGRAMS[program], configPath, ...decoded }
  return { kind, ...decoded }
}

/** The name that the program was started by: npm links all commands of a package to the same file. */
export function programOf(path: string): Program {
  const name = basename(path).replace(/\.(c|m)?(js|ts|cmd|exe)$/i, '')
  return isProgram(name) ? name : 'lazuli'
}

function isProgram(name: string): name is Program {
  return Object.hasOwn(PROGRAMS, name)
}

function decodeKind(program: Program, words: readonly string[]): 'start' | 'health' | 'fsck' {
  const [word, more] = words
  if (more !== undefined) throw usageError(`unexpected argument ${more}; see --help`)
  if (word === undefined || word === 'start') return 'start'
  if (program === 'lazuli' && (word === 'health' || word === 'fsck')) return word
  const expected = program === 'lazuli' ? 'start, health or fsck' : 'start'
  throw usageError(`unknown command ${word}; expected ${expected}`)
}

function readConfig(path: string, flags: Flags, env: Env): ConfigFile | undefined {
  const file = readConfigFile(path)
  const isGiven = flags.config !== undefined || (env.LAZULI_CONFIG ?? '') !== ''
  if (file === undefined && isGiven) {
    const place = flags.config === undefined ? 'LAZULI_CONFIG' : '--config'
    throw usageError(`the config file ${path} does not exist; check ${place}`)
  }
  return file
}
