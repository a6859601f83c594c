// The command line program: decodes the command, starts the server, prints its endpoints, and stops it on a signal. Runs
// when it is imported.
import { platform, totalmem } from 'node:os'
import { hostRule } from './http/protocol/allowed-host.ts'
import type { JoinedCluster } from './run/cluster/open-membership.ts'
import { runServer, type RunningServer } from './run/server.ts'
import { hasOwnKey, openAccounts, wellKnownKeyWarning } from './start/account/accounts.ts'
import {
  checkAdminPort,
  startAdmin,
  type Admin,
  type AdminIdentity,
  type AdminSettings,
} from './start/admin/admin.ts'
import {
  bannerFields,
  bannerLines,
  closedLine,
  closingLine,
  controlTokenLine,
  listeningLine,
  memoryLine,
  readyLine,
  startingLine,
} from './start/log/banner.ts'
import {
  decodeCommand,
  type BackupCommand,
  type CopyCommand,
  type FsckCommand,
  type ImportCommand,
  type RestoreCommand,
  type StartCommand,
} from './start/options/command.ts'
import { unknownVariables } from './start/options/decode-options.ts'
import { findAdmin } from './start/admin/find-admin.ts'
import { checkHealth } from './start/admin/health.ts'
import { movedPorts } from './start/log/moved-ports.ts'
import { movingPorts } from './start/options/services.ts'
import {
  announceServer,
  newServerId,
  retractServer,
  type AnnouncedServer,
} from './start/store/running-server.ts'
import { urlOf } from './start/host.ts'
import { locationPath } from './start/store/location.ts'
import type { Progress } from './start/copy/progress.ts'
import type { Fsck } from './start/store/fsck.ts'
import { openLog, type Log } from './start/log/log.ts'
import {
  acceptsForgedTokens,
  allowedHosts,
  bytesFolder,
  extentMemoryLimitBytes,
  type Options,
} from './start/options/options.ts'
import { onShutdown } from './start/shutdown.ts'
import { openSmbUsers } from './start/account/smb-users.ts'
import { errorReason, isRecordsDamage, StartError } from './start/start-error.ts'
import { VERSION } from './start/version.ts'
import { ControlError } from './control/control-error.ts'
import { StoreInUse } from './node/owner.ts'
import { FormatError } from './node/format.ts'
import type { SmbUsers } from './auth/smb/smb-users.ts'
import type { Accounts } from './storage/shared/account.ts'

const FORGED_TOKENS =
  'the signatures of bearer tokens are not checked, so anyone can forge one. ' +
  'Add --oauthIssuer URL to accept only tokens that are signed by an issuer.'

const WATCH_EVERY_MS = 2_000

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
    case 'start':
      await start(command)
      return 0
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

/** Azurite's data in the place where it would look for it, at the first start there. */
async function importAtStart(
  { options, program }: StartCommand,
  location: string,
  log: Log,
): Promise<void> {
  const { pendingImport } = await import('./run/azurite/pending.ts')
  const ownLocation = program === 'lazuli' ? undefined : process.cwd()
  const azuriteLocation = options.location === undefined ? ownLocation : location
  const from = pendingImport({ location, azuriteLocation })
  if (from === undefined) return
  const { importLines, runImport } = await import('./run/azurite/command.ts')
  log.say(`importing the data of Azurite from ${from} …`)
  const pending = { from, location, services: undefined }
  const imported = await runImport(pending, { log, progress: await stderrProgress() })
  for (const line of importLines(pending, imported)) log.say(line)
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

async function stderrProgress(): Promise<Progress> {
  const { progressOf } = await import('./start/copy/progress.ts')
  const { stderr } = process
  return progressOf({
    isTerminal: stderr.isTTY,
    write: (text) => stderr.write(text),
    nowMs: () => performance.now(),
  })
}

function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

async function start(command: StartCommand): Promise<void> {
  const { options, program } = command
  const log = await openLog({ options, stdout: process.stdout, clock: Date.now })
  for (const warning of unknownVariables(process.env)) log.warn(warning)
  const location =
    options.inMemoryPersistence || options.store !== undefined
      ? undefined
      : locationPath(options.location, process.cwd())
  const accounts = openAccounts({
    sources: {
      env: process.env,
      accountsFile: options.accountsFile,
      configPath: command.configPath,
    },
    clock: Date.now,
    report: (level, message) => log[level](message),
  })
  const smbUsers = openUsers(options, accounts, log)
  // Requests look at the files, too; without any, whoever changes one still wants to read what became of it.
  const watching = setInterval(() => [accounts.names(), smbUsers?.identities()], WATCH_EVERY_MS)
  watching.unref()
  const memoryLimitBytes = options.inMemoryPersistence
    ? extentMemoryLimitBytes(options, memoryBytes())
    : undefined
  await checkAdminPort(adminPlace(command))
  if (location !== undefined) await importAtStart(command, location, log)
  let ready = false
  const membership = await join(command, accounts, smbUsers, log)
  const clock = membership?.clock ?? Date.now
  let consoleUrl: string | undefined
  const server = await runServer({
    options, location, memoryLimitBytes, accounts, smbUsers, clock, wallClock: clock, log,
    services: command.services,
    consoleUrl: () => consoleUrl,
    mayMove: movingPorts(program).filter((name) => !command.given.has(`${name}Port`)),
    ...(membership !== undefined && { membership }),
  }).catch(async (error: unknown) => {
    await membership?.store.close()
    throw error
  }) // prettier-ignore
  const id = newServerId()
  const known = accounts.names().flatMap((name) => accounts.get(name) ?? [])
  const admin = await startAdminOrClose(
    command,
    server,
    log,
    {
      id,
      data: location !== undefined ? 'folder' : membership === undefined ? 'memory' : 'database',
    },
    hasOwnKey(known),
    () => ready && membership?.cluster.isBeating() !== false,
    () => membership?.listNodes() ?? [],
  )
  consoleUrl = admin.url
  const close = async (): Promise<void> => {
    ready = false
    if (location !== undefined) retractServer(location)
    for (const { service } of server.endpoints) log.announce(closingLine(program, service))
    await server.close()
    await admin.close()
    for (const { service } of server.endpoints) log.announce(closedLine(program, service))
    await log.close()
  }
  onShutdown({
    process,
    close,
    exit: (code) => process.exit(code),
    hasTerminal: process.stdin.isTTY || process.stdout.isTTY,
    reload: () => {
      reopenFiles([server.reopenFiles, log.reopen], log)
      void server.renewTls(Date.now())
    },
    report: (text) => log.error(text),
  })
  const hosts = server.endpoints.map(({ host }) => host)
  const keyWarning = wellKnownKeyWarning(hosts, known)
  const banner = {
    version: VERSION,
    endpoints: server.endpoints,
    adminUrl: admin.url,
    websiteUrl: websiteUrlOf(server, options),
    moved: movedPorts(options, { ...server, adminUrl: admin.url }),
    location: membership?.location ?? location,
    accounts: known,
    ...(smbUsers && { smbUsers: smbUsers.identities() }),
    allowsHttp: options.allowHttp,
    ca: server.tls?.ca,
    platform: platform(),
  }
  if (options.log === 'json') log.info('started', bannerFields(banner))
  else for (const line of bannerLines(banner)) log.say(line)
  if (keyWarning !== undefined) log.warn(keyWarning)
  if (acceptsForgedTokens(options)) log.warn(FORGED_TOKENS)
  if (memoryLimitBytes !== undefined) log.say(memoryLine(memoryLimitBytes, memoryBytes()))
  for (const endpoint of server.endpoints) {
    if (program !== 'lazuli') log.say(startingLine(program, endpoint))
    log.announce(listeningLine(program, endpoint))
  }
  const { url: adminUrl, generatedToken: token } = admin
  if (location !== undefined) announce(location, { adminUrl, id, ...(token && { token }) }, log)
  if (admin.generatedToken !== undefined) log.announce(controlTokenLine(admin.generatedToken))
  log.announce(readyLine(admin.url))
  ready = true
}

function reopenFiles(reopens: readonly (() => void)[], log: Log): void {
  for (const reopen of reopens) {
    try {
      reopen()
    } catch (error) {
      log.error('a log file cannot be reopened, so the old one is used on', { error })
    }
  }
  log.info('log files reopened')
}

function announce(location: string, found: AnnouncedServer, log: Log): void {
  try {
    announceServer(location, found)
  } catch (error) {
    // A full disk, for example: commands then need --adminPort, and the server works.
    log.warn('lazuli health will not find this server by its folder', { error })
  }
}

function websiteUrlOf({ tls, webPort }: RunningServer, { webHost }: Options): string | undefined {
  return webPort === 0 ? undefined : urlOf(tls ? 'https' : 'http', webHost, webPort)
}

/** With `--store`, the server is a node of a cluster. Loaded on demand. */
async function join(
  { options, services }: StartCommand,
  accounts: Accounts,
  smbUsers: SmbUsers | undefined,
  log: Log,
): Promise<JoinedCluster | undefined> {
  const { store: url } = options
  if (url === undefined) return undefined
  const { openMembership } = await import('./run/cluster/open-membership.ts')
  return openMembership({
    url, options, version: VERSION, accounts, smbUsers, log,
    env: process.env,
    say: (line) => log.say(line),
    hasFiles: services.includes('file'),
    onExpelled: () => {
      log.error('other nodes took this one for dead, because it was silent for long; start it again')
      void log.close().finally(() => process.exit(1))
    },
  }) // prettier-ignore
}

function openUsers({ smbUsersFile: path }: Options, accounts: Accounts, log: Log) {
  if (path === undefined) return undefined
  const report = (level: 'info' | 'warn', message: string): void => log[level](message)
  return openSmbUsers({ path, accounts, clock: Date.now, report })
}

function adminPlace({ options, given }: StartCommand) {
  const { adminHost: host, adminPort: port } = options
  return { host, port, portMayMove: !given.has('adminPort') }
}

async function startAdminOrClose(
  command: StartCommand,
  server: RunningServer,
  log: Log,
  identity: AdminIdentity,
  guardsKeys: boolean,
  ready: () => boolean,
  nodes: AdminSettings['nodes'],
): Promise<Admin> {
  try {
    return await startAdmin({
      ...adminPlace(command),
      acceptsHost: hostRule(allowedHosts(command.options)),
      ready,
      identity,
      nodes,
      parts: server.parts,
      access: {
        control: command.options.control,
        token: command.options.controlToken,
        guardsKeys,
      },
      metrics: server.metrics,
      caPem: server.tls?.ca?.pem,
      report: (message, error) => log.error(message, { error }),
    })
  } catch (error) {
    await server.close()
    throw error
  }
}

/** The memory limit of the container, if there is one. */
function memoryBytes(): number {
  const limit = process.constrainedMemory()
  return limit > 0 && limit < totalmem() ? limit : totalmem()
}

function errorText(error: unknown): string {
  return error instanceof Error && error.stack !== undefined ? error.stack : errorReason(error)
}
