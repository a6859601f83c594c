// Splits the command line into words and flags with node:util's parser. Unknown flags and missing values are refused
// with a message that names the flag as it was written.
import { parseArgs } from 'node:util'
import { isSettingName, SETTING_NAMES, SETTINGS, type SettingName } from './options.ts'
import { nearestName } from './nearest.ts'
import { usageError } from '../start-error.ts'
import { STEER_COMMANDS } from '../steer/names.ts'
import { REPEATED_FLAGS } from './torture-flags.ts'

/** Flags that are not settings: lazuli.json can not contain them. */
export const COMMAND_FLAGS = {
  config: {
    placeholder: 'FILE',
    help: 'settings and accounts (default ./lazuli.json, if it exists)',
  },
  help: { placeholder: undefined, short: 'h', help: 'print this help and exit' },
  version: { placeholder: undefined, short: 'v', help: 'print the version and exit' },
  json: {
    placeholder: undefined,
    of: ['nodes', 'fsck', ...STEER_COMMANDS],
    help: 'print JSON',
  },
  adminUrl: {
    placeholder: 'URL',
    of: ['backup', 'torture', ...STEER_COMMANDS],
    help: 'the admin port of the server (default that of the settings)',
  },
  repair: {
    placeholder: undefined,
    of: ['fsck'],
    help: 'correct indexes, totals and references; what is lost is only reported',
  },
  verify: {
    placeholder: undefined,
    of: ['backup'],
    help: 'check the backup that is there, and write nothing',
  },
  acceptDamage: {
    placeholder: undefined,
    of: ['restore'],
    help: 'complete the restore although some content is damaged, and say what',
  },
  follow: { placeholder: undefined, of: ['journal'], help: 'go on with new entries' },
  conflicts: {
    placeholder: undefined,
    of: ['journal'],
    help: 'only requests that lost to another',
  },
  resource: {
    placeholder: '/ACCOUNT/…',
    of: ['journal'],
    help: 'only this resource and what is below it',
  },
  operation: { placeholder: 'NAME', of: ['journal'], help: 'only this operation' },
  client: { placeholder: 'NAME', of: ['journal'], help: 'only this client' },
  status: { placeholder: 'STATUS', of: ['journal'], help: 'only this status' },
  since: { placeholder: 'NUMBER', of: ['journal'], help: 'only entries after this one' },
  countMax: { placeholder: 'COUNT', of: ['journal'], help: 'only the newest entries' },
  expectNoRaces: {
    placeholder: undefined,
    of: ['races'],
    help: 'exit with 1 if there are races, for scripts',
  },
  account: { placeholder: 'NAME', of: ['reset'], help: 'only this account' },
  service: {
    placeholder: 'blob|queue|table|file',
    of: ['reset'],
    help: 'only this service',
  },
  container: {
    placeholder: 'NAME',
    of: ['reset'],
    help: 'only this container, queue, table or share',
  },
  from: {
    placeholder: 'FOLDER|postgres://…',
    of: ['copy'],
    help: 'the store to copy; nobody may use it meanwhile',
  },
  to: {
    placeholder: 'FOLDER|postgres://…',
    of: ['copy'],
    help: 'the new store: an empty folder or database',
  },
  fromBytes: {
    placeholder: 'folder:PATH',
    of: ['copy'],
    help: 'the --bytes of the nodes that used --from',
  },
  toBytes: {
    placeholder: 'postgres|folder:PATH',
    of: ['copy'],
    help: 'the --bytes of the nodes that will use --to (default postgres)',
  },
  url: {
    placeholder: 'URL',
    of: ['torture'],
    help: 'the Blob service of a server or, repeated, of its nodes (default account)',
  },
  connectionString: {
    placeholder: 'TEXT',
    of: ['torture'],
    help: 'a server of any kind; several flags are several nodes',
  },
  randomSeed: {
    placeholder: 'NUMBER',
    of: ['torture'],
    help: 'chooses what clients do (default a new one)',
  },
  clients: {
    placeholder: 'COUNT',
    of: ['torture'],
    help: 'at the same time (default 16)',
  },
  seconds: {
    placeholder: 'COUNT',
    of: ['torture'],
    help: 'how long clients work (default 10)',
  },
  operations: {
    placeholder: 'COUNT',
    of: ['torture'],
    help: 'how many operations they do, instead of or besides --seconds',
  },
  slackMs: {
    placeholder: 'MS',
    of: ['torture'],
    help: 'how far the clocks of servers may be apart from this one (default 250)',
  },
  faults: {
    placeholder: undefined,
    of: ['torture'],
    help: 'requests fail, by the admin port; --adminUrl may be given for each node',
  },
  history: { placeholder: 'FILE', of: ['torture'], help: 'write all calls to this file' },
  check: {
    placeholder: 'FILE',
    of: ['torture'],
    help: 'decide about such a file, without a server',
  },
} as const

export type CommandFlag = keyof typeof COMMAND_FLAGS

export type Flags = {
  readonly words: readonly string[]
  /** The value of each flag. The last one wins, but lists are joined. A switch without a value is 'true'. */
  readonly settings: ReadonlyMap<SettingName, string>
  /** Flags that are not settings. */
  readonly command: ReadonlyMap<CommandFlag, string>
}

type FlagConfig = { type: 'string' | 'boolean'; short?: string }

export function decodeFlags(args: readonly string[]): Flags {
  const { tokens } = parseArgs({
    args: [...args],
    options: flagConfigs(),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words: string[] = []
  const values = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind === 'option') {
      const [text, before] = [decodeFlag(token), values.get(token.name)]
      values.set(token.name, before === undefined ? text : joined(token.name, before, text))
    }
  }
  const settings = new Map([...values].flatMap(([k, v]) => (isSettingName(k) ? [[k, v]] : [])))
  const command = new Map([...values].flatMap(([k, v]) => (isCommandFlag(k) ? [[k, v]] : [])))
  return { words, settings, command }
}

/** The last one wins, except for lists. */
function joined(name: string, before: string, text: string): string {
  if (REPEATED_FLAGS.has(name)) return `${before}\n${text}`
  return isList(name) ? `${before},${text}` : text
}

function isList(name: string): boolean {
  return isSettingName(name) && SETTINGS[name].placeholder?.endsWith(',…') === true
}

function flagConfigs(): Record<string, FlagConfig> {
  const rows = [...Object.entries(SETTINGS), ...Object.entries(COMMAND_FLAGS)]
  return Object.fromEntries(
    rows.map(([name, row]) => {
      const type: FlagConfig['type'] = row.placeholder === undefined ? 'boolean' : 'string'
      const short = 'short' in row ? row.short : undefined
      return [name, short === undefined ? { type } : { type, short }]
    }),
  )
}

type OptionToken = {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

function decodeFlag({ name, rawName, value, inlineValue }: OptionToken): string {
  const row = rowOf(name)
  if (row === undefined) throw usageError(`unknown flag ${rawName}${suggestion(name)}`)
  if (row.placeholder === undefined) return value ?? 'true'
  // "--location --silent" lacks a folder; "--location=--silent" is explicit.
  if (value === undefined || value === '' || (value.startsWith('-') && inlineValue !== true)) {
    throw usageError(`${rawName} needs a value: ${rawName} ${row.placeholder}`)
  }
  return value
}

function rowOf(name: string): { readonly placeholder: string | undefined } | undefined {
  if (isSettingName(name)) return SETTINGS[name]
  return isCommandFlag(name) ? COMMAND_FLAGS[name] : undefined
}

function isCommandFlag(name: string): name is CommandFlag {
  return Object.hasOwn(COMMAND_FLAGS, name)
}

function suggestion(name: string): string {
  const near = nearestName(name, [...SETTING_NAMES, ...Object.keys(COMMAND_FLAGS)])
  return near === undefined ? '; see --help for all flags' : `; did you mean --${near}?`
}
