// The commands that show and steer a running server, by its admin port.

export const STEER_COMMANDS = [
  'journal',
  'leases',
  'messages',
  'opens',
  'locks',
  'copies',
  'uncommitted',
  'races',
  'clock',
  'barriers',
  'faults',
  'snapshots',
  'reset',
  'seed',
  'export',
] as const

export type SteerName = (typeof STEER_COMMANDS)[number]

export type SteerCommand = {
  readonly name: SteerName
  /** What follows the name. */
  readonly words: readonly string[]
  /** Flags of this command: the fields of its request. */
  readonly fields: ReadonlyMap<string, string>
  readonly follow: boolean
  readonly asJson: boolean
  readonly adminUrl: string
  readonly token: string | undefined
  readonly cwd: string
}
