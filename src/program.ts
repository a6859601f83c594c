// The command line program: decodes the command and runs it, when it is imported. What a command needs is loaded for it: a
// health check should not cost what a server does.
import { ControlError } from './control/control-error.ts'
import { FormatError } from './node/format.ts'
import { StoreInUse } from './node/owner.ts'
import { findAdmin } from './start/admin/find-admin.ts'
import { checkHealth } from './start/admin/health.ts'
import { stderrProgress } from './start/copy/stderr-progress.ts'
import { openLog } from './start/log/log.ts'
import {
  decodeCommand,
  type BackupCommand,
  type CopyCommand,
  type FsckCommand,
  type ImportCommand,
  type RestoreCommand,
} from './start/options/command.ts'
import { unknownVariables } from './start/options/decode-options.ts'
import { bytesFolder } from './start/options/options.ts'
import { errorReason, isRecordsDamage, StartError } from './start/start-error.ts'
import type { Fsck } from './start/store/fsck.ts'
import { locationPath } from './start/store/location.ts'
import { VERSION } from './start/version.ts'

/** The exit code of fsck if nothing is known about the store. */
const COULD_NOT_CHECK = 2

// `lazuli | head -1` closes the pipe; the server keeps running.
process.stdout.on('error', () => {})

try {
  process.exitCode = await main()
} catch (error) {
  printError(error)
  process.exitCode = error instanceof StartError ? error.exitCode : 1
}

function printError(error: unknown): void {
  const named =
    error instanceof StartError ||
    error instanceof StoreInUse ||
    error instanceof FormatError ||
    error instanceof ControlError
  const text = isRecordsDamage(error)
    ? `the records cannot be read (${error.message}); restore a backup`
    : named
      ? error.message
      : errorText(error)
  process.stderr.write(`lazuli: ${text}\n`)
}

async function main(): Promise<number> {
  const { argv, env } = process
  const command = decodeCommand({ argv, env, cwd: process.cwd(), version: VERSION })
  if (command.kind !== 'start')
    for (const warning of unknownVariables(env)) process.stderr.write(`lazuli: ${warning}\n`)
  switch (command.kind) {
    case 'print':
      process.stdout.write(`${command.text}\n`)
      return 0
    case 'help': {
      const { helpText } = await import('./start/options/help.ts')
      process.stdout.write(`${helpText(command.program, command.command)}\n`)
      return 0
    }
    case 'health': {
      const { exitCode, line } = await checkHealth(findAdmin(command, process.cwd()))
      process.stdout.write(`${line}\n`)
      return exitCode
    }
    case 'nodes': {
      const { listNodes, nodeLines } = await import('./start/store/nodes.ts')
      const nodes = await listNodes(command.store, env)
      printLines(command.asJson ? [JSON.stringify({ nodes }, undefined, 2)] : nodeLines(nodes))
      return 0
    }
    case 'fsck': {
      try {
        const { exitCode, lines } = await fsck(command)
        printLines(lines)
        return exitCode
      } catch (error) {
        printError(error)
        return COULD_NOT_CHECK
      }
    }
    case 'copy': {
      printLines(await copy(command))
      return 0
    }
    case 'backup':
    case 'restore': {
      printLines(await backUpOrRestore(command))
      return 0
    }
    case 'import':
      return importData(command)
    case 'steer': {
      const { runSteer } = await import('./start/steer/run.ts')
      const unread = new AbortController()
      process.stdout.on('error', () => unread.abort())
      const { screenOf } = await import('./start/steer/screen.ts')
      const screen = screenOf(process.stdout, process.env)
      await runSteer(command, { print: printLines, signal: unread.signal, screen })
      return 0
    }
    case 'torture': {
      const { runTorture } = await import('./torture/command.ts')
      const stopping = new AbortController()
      process.once('SIGINT', () => stopping.abort())
      return runTorture(command, { print: printLines, signal: stopping.signal })
    }
    case 'start': {
      const { startServerProcess } = await import('./run/server-process.ts')
      await startServerProcess(command)
      return 0
    }
  }
}

async function fsck({ options, repairs, asJson }: FsckCommand): Promise<Fsck> {
  const { store: url, bytes, location } = options
  const run = { progress: await stderrProgress(), repairs, asJson }
  if (url !== undefined) {
    const { checkDatabase } = await import('./start/store/fsck-database.ts')
    return checkDatabase({ url, bytesFolder: bytesFolder(bytes) }, process.env, run)
  }
  const { checkLocation } = await import('./start/store/fsck.ts')
  return checkLocation(locationPath(location, process.cwd()), process.pid, run)
}

/** 1 if something was left out. */
async function importData({ options, from }: ImportCommand): Promise<number> {
  const { importLines, runImport } = await import('./run/azurite/command.ts')
  const location = locationPath(options.location, process.cwd())
  const given = { from, location, services: options.services }
  const log = await openLog({ options, stdout: process.stderr, clock: Date.now })
  const imported = await runImport(given, { log, progress: await stderrProgress() })
  await log.close()
  printLines(importLines(given, imported))
  return imported.leftOut.length === 0 ? 0 : 1
}

async function copy(command: CopyCommand): Promise<readonly string[]> {
  const { runCopy } = await import('./start/copy/command.ts')
  return runCopy(command, await longRun())
}

async function backUpOrRestore(
  command: BackupCommand | RestoreCommand,
): Promise<readonly string[]> {
  const run = await longRun()
  if (command.kind === 'restore') {
    const { runRestore } = await import('./start/backup/restore.ts')
    return runRestore(command, run)
  }
  const { runBackup } = await import('./start/backup/command.ts')
  return runBackup(command, { ...run, nowMs: Date.now })
}

/** For commands that show their progress, and that Ctrl-C stops. */
async function longRun() {
  const { env, pid } = process
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // A second one ends the process at once.
    process.once(signal, () => stopping.abort())
  }
  return { env, pid, progress: await stderrProgress(), signal: stopping.signal }
}

function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

function errorText(error: unknown): string {
  return error instanceof Error && error.stack !== undefined ? error.stack : errorReason(error)
}
