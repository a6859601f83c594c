// The commands in a block of shell: those of Lazuli must be ones that it accepts, and programs of the repository must be there.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decodeCommand } from '../../src/start/options/command.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PROGRAMS = ['lazuli', 'azurite', 'azurite-blob', 'azurite-queue', 'azurite-table']

/** What is wrong with the commands. */
export function wrongCommands(text: string): readonly string[] {
  return commandsOf(text).flatMap((words) => wrongCommand(words) ?? [])
}

type Words = readonly string[]

/** Enough of the shell for what docs contain: comments, continued lines, quotes, lists and pipes. */
export function commandsOf(text: string): readonly Words[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => partsOf(line))
}

function partsOf(line: string): readonly Words[] {
  const parts: string[][] = [[]]
  for (const [word] of line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'|&;])+|[|&;]+/g)) {
    if (word.startsWith('#')) break
    if (/^[|&;]+$/.test(word)) parts.push([])
    else parts.at(-1)?.push(word.replaceAll(/["']/g, ''))
  }
  return parts.filter((words) => words.length > 0)
}

function wrongCommand(all: Words): string | undefined {
  const at = all.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word))
  const env = Object.fromEntries(
    all.slice(0, Math.max(0, at)).map((word) => word.split(/=(.*)/s, 2)),
  )
  const words = at < 0 ? [] : all.slice(at)
  const own = ownWords(words)
  if (own !== undefined) return wrongOwn(own, env)
  const [program, first = ''] = words
  if (
    program === 'node' &&
    /^(examples|src|scripts)\//.test(first) &&
    !existsSync(join(ROOT, first))
  )
    return `there is no ${first}`
  return undefined
}

/** The words of a command of Lazuli, however it is started. */
function ownWords(words: Words): Words | undefined {
  const [program = '', ...rest] = words
  if (PROGRAMS.includes(program)) return words
  if (program === 'npx') return ownWords(rest.filter((word) => word !== '--yes' && word !== '-y'))
  if (program !== 'npm' || rest[0] !== 'start') return undefined
  return ['lazuli', ...rest.slice(rest[1] === '--' ? 2 : 1)]
}

function wrongOwn(words: Words, env: Readonly<Record<string, string>>): string | undefined {
  try {
    decodeCommand({ argv: ['node', ...words], env, cwd: ROOT, version: '' })
    return undefined
  } catch (error) {
    return `${words.join(' ')}: ${String(error)}`
  }
}
