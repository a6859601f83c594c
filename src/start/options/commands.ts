// The names of the commands of the program `lazuli`. Their flags are in flags.ts, their help in command-help.ts.
import { STEER_COMMANDS, type SteerName } from '../steer/names.ts'

/** In the order of the help. */
export const COMMANDS = [
  'start',
  'health',
  'nodes',
  'backup',
  'restore',
  'fsck',
  'copy',
  'import',
  ...STEER_COMMANDS,
  'torture',
] as const

export type CommandName = (typeof COMMANDS)[number]

export function isSteerName(name: CommandName): name is SteerName {
  return STEER_COMMANDS.some((each) => each === name)
}
