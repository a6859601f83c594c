// What the command line says about `lazuli torture`. The command itself decodes the rest: it is loaded on demand.
import { findAdmin } from '../admin/find-admin.ts'
import { usageError } from '../start-error.ts'
import type { Flags, CommandFlag } from './flags.ts'
import type { DecodedOptions } from './decode-options.ts'
import type { ServiceName } from './services.ts'

export type TortureCommand = {
  /** The flags of this command. */
  readonly texts: ReadonlyMap<string, string>
  /** A history to decide about, instead of a run. */
  readonly checkPath: string | undefined
  /** The value of --services. */
  readonly services: readonly ServiceName[] | undefined
  readonly adminUrls: readonly string[]
  readonly token: string | undefined
  readonly cwd: string
}

export function decodeTorture(
  { command }: Flags,
  decoded: DecodedOptions,
  cwd: string,
): TortureCommand {
  const given: readonly (readonly [CommandFlag, string])[] = [...command]
  const checkPath = command.get('check')
  const [other] = given.filter(([name]) => name !== 'check' && name !== 'config')
  if (checkPath !== undefined && other !== undefined)
    throw usageError(`--check decides about a file, so it has no use for --${other[0]}`)
  const found = findAdmin(decoded, cwd)
  const adminUrls = command.get('adminUrl')?.split('\n') ?? [found.url]
  if (command.has('adminUrl') && !command.has('faults'))
    throw usageError('lazuli torture uses --adminUrl only with --faults')
  const { services, controlToken } = decoded.options
  const token = command.has('adminUrl') ? controlToken : found.token
  return { texts: new Map(given), checkPath, services, adminUrls, token, cwd }
}
