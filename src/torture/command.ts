// The command `lazuli torture`: many clients at once against a server, and the decision whether all answers fit together.
import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { errorReason, StartError } from '../start/start-error.ts'
import type { TortureCommand } from '../start/options/torture-command.ts'
import { checkHistory } from './check/check.ts'
import { loadOf } from './check/load.ts'
import { isKind } from './check/objects.ts'
import { verdictOf } from './check/report.ts'
import { addFaults } from './drive/faults.ts'
import { Unprepared } from './drive/place.ts'
import { offeredServices, runClients, type World } from './drive/run.ts'
import type { History } from './history/call.ts'
import { decodeHistory, encodeHistory, HistoryError } from './history/file.ts'
import { tortureOptions, type TortureOptions } from './options.ts'

export type TortureWorld = {
  print(lines: readonly string[]): void
  /** Ends the run early; what was recorded is decided about. */
  readonly signal: AbortSignal
}

/** Returns the exit code: 0 explained, 1 a violation, 2 the run says nothing or could not run. */
export async function runTorture(command: TortureCommand, world: TortureWorld): Promise<number> {
  const history = await historyOf(command, world)
  const { exitCode, lines } = verdictOf(loadOf(history), checkHistory(history))
  world.print(lines)
  return exitCode
}

async function historyOf(command: TortureCommand, world: TortureWorld): Promise<History> {
  const { checkPath } = command
  if (checkPath !== undefined) return readHistory(checkPath)
  const asked = tortureOptions(command, randomInt(2 ** 31))
  const services = await offeredServices(asked.servers, asked.services)
  if (command.services !== undefined && services.length < asked.services.length)
    throw new StartError('dfs needs an account with a hierarchical namespace', 2)
  const options = { ...asked, services }
  world.print([introOf(options)])
  const history = await record(options, world)
  if (options.historyPath !== undefined) {
    await writeFile(options.historyPath, encodeHistory(history)).catch((error: unknown) => {
      throw new StartError(`${options.historyPath} can't be written: ${errorReason(error)}`, 2)
    })
  }
  return history
}

async function readHistory(path: string): Promise<History> {
  try {
    return decodeHistory(await readFile(path, 'utf8'), isKind)
  } catch (error) {
    throw new StartError(`${path}: ${error instanceof HistoryError ? error.message : errorReason(error)}`, 2) // prettier-ignore
  }
}

function introOf({
  servers,
  services,
  seed,
  clients,
  operations,
  seconds,
}: TortureOptions): string {
  const until = [operations && `${operations} operations`, seconds && `${seconds} seconds`]
  const nodes = servers.length === 1 ? '1 server' : `${servers.length} servers`
  return `--randomSeed ${seed}: ${clients} clients, ${services.join(', ')}, ${nodes}, for ${until.filter(Boolean).join(' or ')}`
}

const WORLD: World = {
  nowMs: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}

async function record(options: TortureOptions, { print, signal }: TortureWorld): Promise<History> {
  const { seed, adminServers } = options
  const run = `torture${randomInt(36 ** 6).toString(36)}`
  const hasFaults = adminServers.length > 0
  let remove: () => Promise<number> = async () => 0
  const over = async (): Promise<void> => {
    const count = await remove()
    remove = async () => 0
    if (hasFaults) print([`${count} faults struck`])
  }
  const ready = async (): Promise<void> => {
    remove = (await addFaults(adminServers, run, seed)).remove
  }
  try {
    return await runClients({ ...options, run, faults: hasFaults, world: WORLD, ready, over, signal })
  } catch (error) {
    if (!(error instanceof Unprepared)) throw error
    throw new StartError(error.message, 2)
  } finally {
    await remove()
  }
} // prettier-ignore
