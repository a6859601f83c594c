// The services of a server, and which of them each program offers.
import { usageError } from '../start-error.ts'

/** What a client can name as an endpoint. */
export type EndpointName = 'blob' | 'queue' | 'table' | 'file' | 'dfs' | 'smb'

/** What listens on a port of its own: `dfs` is Data Lake Storage, `web` is for static websites. */
export const SERVICE_NAMES = ['blob', 'queue', 'table', 'file', 'dfs', 'smb', 'web'] as const

export type ServiceName = (typeof SERVICE_NAMES)[number]

export function isServiceName(name: string): name is ServiceName {
  return SERVICE_NAMES.some((each) => each === name)
}

const PROGRAMS = {
  lazuli: SERVICE_NAMES,
  azurite: SERVICE_NAMES,
  'azurite-blob': ['blob', 'web'],
  'azurite-queue': ['queue'],
  'azurite-table': ['table'],
} as const satisfies Record<string, readonly ServiceName[]>

export type Program = keyof typeof PROGRAMS

export function isProgram(name: string): name is Program {
  return Object.hasOwn(PROGRAMS, name)
}

/** `asked`: the value of --services; undefined for all that the program offers. */
export function servicesOf(
  program: Program,
  asked: readonly ServiceName[] | undefined,
): readonly ServiceName[] {
  const offered: readonly ServiceName[] = PROGRAMS[program]
  const other = asked?.find((name) => !offered.includes(name))
  if (other !== undefined)
    throw usageError(`--services: ${program} offers only ${offered.join(', ')}, not ${other}`)
  return offered.filter((name) => asked?.includes(name) ?? true)
}

/**
 * The ports that go to a free one if theirs is in use and only a default. Those that Azurite does not have must not keep
 * a drop-in for it from starting. Clients expect the others where they are.
 */
export function movingPorts(program: Program): readonly ServiceName[] {
  return program === 'lazuli' ? ['dfs', 'web'] : ['dfs', 'web', 'file', 'smb']
}
