// docs/configuration.md: every setting, read from the table of settings.
import { envName, SETTING_NAMES, SETTINGS } from '../../src/start/options/options.ts'
import type { Setting } from '../../src/start/options/setting.ts'

const INTRODUCTION = `# Configuration

<!-- Written by \`npm run docs\` from the table of settings in src/start/options/options.ts. -->

Every setting is a flag, an environment variable and a key of \`lazuli.json\` in the current folder (or of the file given by
\`--config\`). Flags override environment variables, which override the file:

\`\`\`sh
lazuli --blobPort 11000 --https auto
LAZULI_BLOB_PORT=11000 LAZULI_HTTPS=auto lazuli
\`\`\`

\`\`\`json
{ "blobPort": 11000, "https": "auto" }
\`\`\`

A switch takes no value as a flag, and \`true\` or \`false\` elsewhere. A list is separated by commas, or the flag is repeated. An invalid value ends
the start with exit code 2 and a line that says what was expected.
`

export function configurationPage(): string {
  const groups = new Map<string, string[]>()
  for (const name of SETTING_NAMES) {
    const setting: Setting<unknown> = SETTINGS[name]
    groups.set(setting.group, [...(groups.get(setting.group) ?? []), line(name, setting)])
  }
  return [INTRODUCTION, ...[...groups].map(([group, lines]) => section(group, lines))].join('\n')
}

function section(group: string, lines: readonly string[]): string {
  return [
    `## ${group}\n`,
    '| flag | default | environment | |',
    '|---|---|---|---|',
    ...lines,
    '',
  ].join('\n')
}

function line(name: string, setting: Setting<unknown>): string {
  const flags = [`--${name}`, ...(setting.short === undefined ? [] : [`-${setting.short}`])]
  const value = setting.placeholder === undefined ? '' : ` ${setting.placeholder}`
  const names = [envName(name), ...(setting.envAlias === undefined ? [] : [setting.envAlias])]
  const cells = [
    flags.map((flag) => `\`${escapeBars(flag + value)}\``).join(' '),
    defaultText(setting.default),
    names.map((each) => `\`${each}\``).join(' '),
    escapeBars(setting.help),
  ]
  return `| ${cells.join(' | ')} |`
}

/** A bar would end the cell. */
function escapeBars(text: string): string {
  return text.replaceAll('|', '\\|')
}

function defaultText(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return `\`${value}\``
  return value === false ? 'off' : ''
}
