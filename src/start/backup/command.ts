// `lazuli backup`: asks the running server of the data folder for a backup, or makes one of a stopped server's folder.
import { setTimeout } from 'node:timers/promises'
import { StoreInUse } from '../../node/owner.ts'
import { ControlError } from '../../control/control-error.ts'
import { backupState } from '../admin/api/answers.ts'
import type { BackupState } from '../admin/api/parts.ts'
import { bytesText, type Progress } from '../copy/progress.ts'
import type { BackupCommand } from '../options/command.ts'
import { StartError } from '../start-error.ts'
import { askServer, type SteerCall } from '../steer/client.ts'
import { VERSION } from '../version.ts'
import { backedUpLine, backUp } from './backup.ts'
import { checkOutside } from './job.ts'
import { openStoppedSource, type StoppedSource } from './live-source.ts'
import { openBackup, writeBackupTo } from './open-backup.ts'
import { checkBackup } from './verify.ts'

export type BackupRun = {
  readonly pid: number
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly nowMs: () => number
}

/** Returns lines to print. Throws StartError if there is no complete backup. */
export async function runBackup(
  command: BackupCommand,
  run: BackupRun,
): Promise<readonly string[]> {
  try {
    if (command.isCheck) return [await checkPlace(command.place, run)]
    const source = command.asksServer ? undefined : await openStopped(command.location, run)
    return [source === undefined ? await askForBackup(command, run) : await backUpStopped(source, command, run)] // prettier-ignore
  } catch (error) {
    if (run.signal.aborted) throw new StartError('the backup was stopped; run the same command again to go on') // prettier-ignore
    throw error
  }
}

async function checkPlace(place: string, run: BackupRun): Promise<string> {
  const { files, manifest } = await openBackup(place)
  try {
    await checkBackup(files, manifest, run)
  } finally {
    await files.close()
  }
  const { recordCount, contentBytes, takenMs } = manifest
  return `${place} has ${recordCount} records and ${bytesText(contentBytes)} of content from ${new Date(takenMs).toISOString()}; no problems`
}

/** undefined if a server runs on the folder. */
async function openStopped(folder: string, { pid }: BackupRun): Promise<StoppedSource | undefined> {
  try {
    return await openStoppedSource(folder, pid)
  } catch (error) {
    if (error instanceof StoreInUse) return undefined
    throw error
  }
}

async function backUpStopped(
  source: StoppedSource,
  { place, location }: BackupCommand,
  run: BackupRun,
): Promise<string> {
  try {
    checkOutside(place, location)
    const writer = await writeBackupTo(place)
    try {
      return backedUpLine(await backUp(source, writer, { ...run, version: VERSION }), place)
    } finally {
      await writer.close()
    }
  } catch (error) {
    throw error instanceof ControlError ? new StartError(error.message) : error
  } finally {
    await source.close()
  }
}

/** How often the server is asked how far it is. */
const ASK_EVERY_MS = 300

async function askForBackup(command: BackupCommand, run: BackupRun): Promise<string> {
  const { place, location, asksServer } = command
  const body = { place, ...(!asksServer && { location }) }
  let state = await ask(command, { method: 'POST', path: 'backup', body })
  while (state.state === 'running') {
    if (run.signal.aborted) {
      await ask(command, { method: 'DELETE', path: 'backup' })
      run.signal.throwIfAborted()
    }
    const { phase, done = 0, total = 0 } = state
    if (phase !== undefined) run.progress.show(phase, done, total)
    await setTimeout(ASK_EVERY_MS, undefined, { signal: run.signal }).catch(() => undefined)
    state = await ask(command, { method: 'GET', path: 'backup' })
  }
  const { message = '' } = state
  if (state.state === 'done') return message
  throw new StartError(message)
}

async function ask(command: BackupCommand, call: SteerCall): Promise<BackupState> {
  return backupState.decode(await askServer(command, call), '')
}
