// The text of --help, generated from the table of settings.
import { COMMAND_FLAGS } from './flags.ts'
import { envName, SETTING_NAMES, SETTINGS } from './options.ts'
import type { Setting } from './setting.ts'

const FLAG_COLUMNS = 36
const INDENT = ' '.repeat(FLAG_COLUMNS)

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
    'General:',
    ...commandLines,
    '',
    `Every setting is also an environment variable (--blobHost: ${envName('blobHost')}) and a key in`,
    'lazuli.json ("blobHost"). Flags override environment variables, which override the file.',
    '',
    'Accounts come from LAZULI_ACCOUNTS or AZURITE_ACCOUNTS ("name:key1[:key2][:hns=true];…"), --accountsFile or',
    '"accounts" in lazuli.json. "hns=true" gives an account a hierarchical namespace. The default is devstoreaccount1',
    'with its well-known key, and devlake1 with the same key and a hierarchical namespace.',
  ].join('\n')
}

function usageLines(program: string): readonly string[] {
  if (program !== 'lazuli') return [`Usage: ${program} [flags]`]
  return [
    'Azure Storage that runs anywhere: Blob, Queue, Table and Files over REST and SMB.',
    '',
    'Usage:',
    '  lazuli [start] [flags]              start the server',
    '  lazuli health [flags]               exit with 0 if the running server is ready, otherwise with 1',
    '  lazuli nodes --store URL            list the nodes that use a database',
    '  lazuli fsck --location FOLDER       check the data of a stopped server',
    '  lazuli fsck --store URL             check the data in a database, also while nodes use it',
    '  lazuli copy --from A --to B         copy a store: a folder to a database, back, or to another of its kind',
    '',
    'Usage with a running server, whose admin port is that of the settings or --adminUrl:',
    '  lazuli journal                      show what happened to the last requests, and to whom they lost',
    '  lazuli leases [break RESOURCE]      show the leases, or break one; also messages, opens, locks, copies, uncommitted',
    '  lazuli races                        show the races that the journal proves',
    '  lazuli clock [hold|run]             show, hold and run the clock; also: advance PT60S, set TIME',
    '  lazuli barriers, lazuli faults      show what holds requests and makes them fail; also hold, release, add, remove',
    '  lazuli snapshots [save NAME]        show and save states of the store; also restore, delete',
    '  lazuli reset                        empty the store, or a part of it',
    '  lazuli seed FOLDER                  fill the store from a folder; lazuli export FOLDER writes one',
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
  const left = flag.length <= FLAG_COLUMNS ? flag.padEnd(FLAG_COLUMNS) : `${flag}\n${INDENT}`
  return `${left}  ${row.help}${tail}`
}

function defaultText(value: unknown): string {
  const plain = typeof value === 'string' || typeof value === 'number'
  return plain ? ` (default ${value})` : ''
}
