// The command line, split into words and flags. node:util's parser finds the parts; what is unknown
// or lacks a value is refused here, in one line that names the flag as it was written.
import { parseArgs } from 'node:util'
import { isSettingName, SETTING_NAMES, SETTINGS, type SettingName } from './options.ts'
import { usageError } from '../start-error.ts'

/** Flags that are no settings: they cannot stand in lazuli.json. */
export const COMMAND_FLAGS = {
  config: { placeholder: 'FILE', help: 'settings and accounts; ./lazuli.json if it exists' },
  help: { placeholder: undefined, short: 'h', help: 'print this and stop' },
  version: { placeholder: undefined, short: 'v', help: 'print the version and stop' },
} as const

type CommandFlag = keyof typeof COMMAND_FLAGS

export type Flags = {
  readonly words: readonly string[]
  /** The text of each flag; the last counts, but lists are put together. A switch without a value is 'true'. */
  readonly settings: ReadonlyMap<SettingName, string>
  readonly config: string | undefined
  readonly help: boolean
  readonly version: boolean
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
      values.set(
        token.name,
        before !== undefined && isList(token.name) ? `${before},${text}` : text,
      )
    }
  }
  const settings = new Map([...values].flatMap(([k, v]) => (isSettingName(k) ? [[k, v]] : [])))
  return {
    words,
    settings,
    config: values.get('config'),
    help: values.has('help'),
    version: values.has('version'),
  }
}

function isList(name: string): boolean {
  return isSettingName(name) && Array.isArray(SETTINGS[name].default)
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
  // "--location --silent" has forgotten the folder; "--location=--silent" means it.
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

/** --blobhost and --blob-host are near enough to --blobHost to name it. */
function suggestion(name: string): string {
  const plain = (text: string): string => text.replaceAll(/[-_]/g, '').toLowerCase()
  const near = SETTING_NAMES.find((setting) => plain(setting) === plain(name))
  return near === undefined ? '; --help lists all' : `; did you mean --${near}?`
}
