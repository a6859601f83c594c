// The text of --help, generated from the tables of settings, flags and commands. No line is longer than 80 characters.
import { formsOf } from '../steer/commands.ts'
import { wrapText } from '../text-table.ts'
import { COMMAND_HELP, type Example } from './command-help.ts'
import { COMMANDS, isSteerName, type CommandName } from './commands.ts'
import { COMMAND_FLAGS } from './flags.ts'
import { envName, SETTING_NAMES, SETTINGS, type SettingName } from './options.ts'
import type { Program } from './services.ts'
import type { Setting } from './setting.ts'

const WIDTH = 80
const LEFT_WIDTH = 32

/** `command`: undefined for all of them. */
export function helpText(program: Program, command: CommandName | undefined): string {
  if (program !== 'lazuli') return startHelp(program).join('\n')
  return (command === undefined ? overview() : commandHelp(command)).join('\n')
}

function overview(): readonly string[] {
  return [
    'Azure Storage that runs anywhere: Blob, Queue, Table and Files.',
    '',
    'Examples:',
    ...exampleLines([...COMMAND_HELP.start.examples, ...FURTHER_EXAMPLES]),
    ...grouped(
      COMMANDS,
      (name) => COMMAND_HELP[name].group,
      (name) => [
        row(
          `  ${name === 'start' ? 'lazuli [start]' : `lazuli ${name}`}`,
          COMMAND_HELP[name].summary,
        ),
      ],
    ),
    '',
    '"lazuli COMMAND --help" shows the flags of a command. Those of "lazuli start",',
    'which are the settings of a server:',
    ...settingLines(SETTING_NAMES),
    ...generalLines(),
    '',
    ...SOURCES,
  ]
}

const FURTHER_EXAMPLES: readonly Example[] = [
  ['lazuli backup /backup/lazuli', 'back up ./.lazuli'],
  ['lazuli journal --conflicts', 'what lost, and to whom'],
]

function startHelp(program: Program): readonly string[] {
  return [
    `Usage: ${program} [flags]`,
    ...settingLines(SETTING_NAMES),
    ...generalLines(),
    '',
    ...SOURCES,
  ]
}

function commandHelp(name: CommandName): readonly string[] {
  const {
    summary,
    usage = usageOf(name),
    examples,
    settings = SETTING_NAMES,
    exitCodes,
  } = COMMAND_HELP[name]
  const own = Object.entries(COMMAND_FLAGS).filter(
    ([, flag]) => 'of' in flag && flag.of.some((each) => each === name),
  )
  return [
    ...wrapText(`lazuli ${name}: ${summary}.`, WIDTH),
    '',
    'Usage:',
    ...usage.map((line) => `  lazuli ${line}`),
    '',
    'Examples:',
    ...exampleLines(examples),
    ...(own.length === 0 ? [] : ['', 'Flags:', ...own.flatMap(([flag, about]) => flagLines(flag, about, ''))]), // prettier-ignore
    ...settingLines(settings),
    ...generalLines(),
    ...(exitCodes === undefined ? [] : ['', `Exit codes: ${exitCodes}.`]),
    ...(name === 'start' ? ['', ...SOURCES] : []),
  ]
}

function usageOf(name: CommandName): readonly string[] {
  return isSteerName(name) ? formsOf(name) : [name]
}

const EXAMPLE_WIDTH = 52

function exampleLines(examples: readonly Example[]): readonly string[] {
  return examples.flatMap(([command, what]) => {
    const left = `  ${command}`.padEnd(EXAMPLE_WIDTH)
    const isNarrow = left.length === EXAMPLE_WIDTH && left.length + what.length <= WIDTH
    if (isNarrow || what === '') return [`${left}${what}`.trimEnd()]
    return [`  ${command}`, `      ${what}`]
  })
}

function settingLines(names: readonly SettingName[]): readonly string[] {
  return grouped(
    names,
    (name) => SETTINGS[name].group,
    (name) => {
      const setting: Setting<unknown> = SETTINGS[name]
      return flagLines(name, setting, defaultText(setting.default))
    },
  )
}

function generalLines(): readonly string[] {
  const rows = Object.entries(COMMAND_FLAGS).filter(([, flag]) => !('of' in flag))
  return ['', 'General:', ...rows.flatMap(([name, flag]) => flagLines(name, flag, ''))]
}

const SOURCES: readonly string[] = [
  ...wrapText(
    `Every setting is also an environment variable (--blobHost: ${envName('blobHost')}) and a key in lazuli.json ("blobHost"). Flags override environment variables, which override the file.`,
    WIDTH,
  ),
  '',
  ...wrapText(
    'Accounts come from LAZULI_ACCOUNTS or AZURITE_ACCOUNTS ("name:key1[:key2][:hns=true];…"), --accountsFile or "accounts" in lazuli.json. "hns=true" gives an account a hierarchical namespace. The default is devstoreaccount1 with its well-known key, and devlake1 with the same key and a hierarchical namespace.',
    WIDTH,
  ),
]

/** A heading for each group, in the order in which they first appear. */
function grouped<Name>(
  names: readonly Name[],
  groupOf: (name: Name) => string,
  linesOf: (name: Name) => readonly string[],
): readonly string[] {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    const lines = groups.get(groupOf(name)) ?? []
    groups.set(groupOf(name), [...lines, ...linesOf(name)])
  }
  return [...groups].flatMap(([group, lines]) => ['', `${group}:`, ...lines])
}

type Row = {
  readonly help: string
  readonly placeholder: string | undefined
  readonly short?: string
}

function flagLines(name: string, { help, placeholder, short }: Row, tail: string) {
  const value = placeholder === undefined ? '' : ` ${placeholder}`
  const left = `  ${short === undefined ? '' : `-${short}, `}--${name}${value}`
  const [first = '', ...others] = wrapText(`${help}${tail}`, WIDTH - LEFT_WIDTH)
  const rest = others.map((line) => row('', line))
  return left.length < LEFT_WIDTH - 1
    ? [row(left, first), ...rest]
    : [left, row('', first), ...rest]
}

function row(left: string, right: string): string {
  return `${left.padEnd(LEFT_WIDTH)}${right}`
}

function defaultText(value: unknown): string {
  const plain = typeof value === 'string' || typeof value === 'number'
  return plain ? ` (default ${value})` : ''
}
