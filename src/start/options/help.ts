// The text of --help, made from the table of settings, so that it cannot differ from what is accepted.
import { COMMAND_FLAGS } from './flags.ts'
import { envName, SETTING_NAMES, SETTINGS } from './options.ts'
import type { Setting } from './setting.ts'

const FLAG_COLUMNS = 34

export function helpText(program: string): string {
  const groups = new Map<string, string[]>()
  for (const name of SETTING_NAMES) {
    const setting: Setting<unknown> = SETTINGS[name]
    const lines = groups.get(setting.group) ?? []
    groups.set(setting.group, [...lines, flagLine(name, setting, defaultText(setting.default))])
  }
  const commandLines = Object.entries(COMMAND_FLAGS).map(([name, row]) => flagLine(name, row, ''))
  return [
    ...usageLines(program),
    '',
    ...[...groups].flatMap(([group, lines]) => [`${group}:`, ...lines, '']),
    ...commandLines,
    '',
    `Each setting is also an environment variable (--blobHost: ${envName('blobHost')}) and a key of`,
    'lazuli.json ("blobHost"); a flag wins over the environment, the environment over the file.',
    'Accounts: LAZULI_ACCOUNTS or AZURITE_ACCOUNTS ("name:key1[:key2];…"), --accountsFile, or',
    '"accounts" in lazuli.json; without any, devstoreaccount1 with its well-known key.',
  ].join('\n')
}

function usageLines(program: string): readonly string[] {
  if (program !== 'lazuli') return [`Usage: ${program} [flags]`]
  return [
    'Azure Storage that runs anywhere.',
    '',
    'Usage:',
    '  lazuli [start] [flags]            start the services',
    '  lazuli health [flags]             exit code 0 if a started Lazuli is ready, else 1',
    '  lazuli fsck --location FOLDER     check the data of a Lazuli that is not running',
  ]
}

type Row = {
  readonly help: string
  readonly placeholder: string | undefined
  readonly short?: string
}

function flagLine(name: string, row: Row, tail: string): string {
  const short = row.short === undefined ? '    ' : `-${row.short}, `
  const value = row.placeholder === undefined ? '' : ` ${row.placeholder}`
  const flag = `  ${short}--${name}${value}`
  return `${flag.padEnd(FLAG_COLUMNS)}  ${row.help}${tail}`
}

function defaultText(value: unknown): string {
  const plain = typeof value === 'string' || typeof value === 'number'
  return plain ? ` (default ${value})` : ''
}
