// The command line program: decodes the command, starts the server, prints its endpoints, and stops it on a signal. Runs
// when it is imported.
import { platform, totalmem } from 'node:os'
import { hostRule } from './http/protocol/allowed-host.ts'
import type { JoinedCluster } from './run/open-membership.ts'
import { runServer, type RunningServer } from './run/server.ts'
import { openAccounts, wellKnownKeyWarning } from './start/account/accounts.ts'
import { checkAdminPort, startAdmin, type Admin, type AdminSettings } from './start/admin/admin.ts'
import {
  bannerLines,
  closedLine,
  closingLine,
  listeningLine,
  memoryLine,
  startingLine,
} from './start/log/banner.ts'
import { decodeCommand, type CopyCommand, type StartCommand } from './start/options/command.ts'
import { checkHealth } from './start/admin/health.ts'
import { urlOf } from './start/host.ts'
import { locationPath } from './start/store/location.ts'
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
import { errorReason, StartError } from './start/start-error.ts'
import { VERSION } from './start/version.ts'
import { ControlError } from './control/control-error.ts'
import { StoreInUse } from './node/owner.ts'
import { FormatError } from './node/format.ts'
import type { SmbUsers } from './auth/smb/smb-users.ts'
import type { Accounts } from './storage/shared/account.ts'

const FORGED_TOKENS =
  'the signatures of bearer tokens are not checked, so anyone can forge one. ' +
  'Add --oauthIssuer URL to accept only tokens that are signed by an issuer.'

// `lazuli | head -1` closes the pipe; the server keeps running.
process.stdout.on('error', () => {})

try {
  process.exitCode = await main()
} catch (error) {
  const named =
    error instanceof StartError ||
    error instanceof StoreInUse ||
    error instanceof FormatError ||
    error instanceof ControlError
  process.stderr.write(`lazuli: ${named ? error.message : errorText(error)}\n`)
  process.exitCode = error instanceof StartError ? error.exitCode : 1
}

async function main(): Promise<number> {
  const { argv, env } = process
  const command = decodeCommand({ argv, env, cwd: process.cwd(), version: VERSION })
  switch (command.kind) {
    case 'print':
      process.stdout.write(`${command.text}\n`)
      return 0
    case 'health': {
      const { exitCode, line } = await checkHealth(command.options)
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
      const { exitCode, lines } = await fsck(command.options)
      printLines(lines)
      return exitCode
    }
    case 'copy': {
      printLines(await copy(command))
      return 0
    }
    case 'steer': {
      const { runSteer } = await import('./start/steer/run.ts')
      const unread = new AbortController()
      process.stdout.on('error', () => unread.abort())
      await runSteer(command, { print: printLines, signal: unread.signal })
      return 0
    }
    case 'start':
      await start(command)
      return 0
  }
}

async function fsck({ store: url, bytes, location }: Options): Promise<Fsck> {
  if (url !== undefined) {
    const { checkDatabase } = await import('./start/store/fsck-database.ts')
    return checkDatabase({ url, bytesFolder: bytesFolder(bytes) }, process.env)
  }
  const { checkLocation } = await import('./start/store/fsck.ts')
  return checkLocation(locationPath(location, process.cwd()), process.pid)
}

async function copy(command: CopyCommand): Promise<readonly string[]> {
  const { runCopy } = await import('./start/copy/command.ts')
  const { progressOf } = await import('./start/copy/progress.ts')
  const { env, pid, stderr } = process
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // A second one ends the process at once.
    process.once(signal, () => stopping.abort())
  }
  const progress = progressOf({
    isTerminal: stderr.isTTY,
    write: (text) => stderr.write(text),
    nowMs: () => performance.now(),
  })
  return runCopy(command, { env, pid, progress, signal: stopping.signal })
}

function printLines(lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

async function start(command: StartCommand): Promise<void> {
  const { options, program } = command
  const log = await openLog({ options, stdout: process.stdout, clock: Date.now })
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
  const memoryLimitBytes = options.inMemoryPersistence
    ? extentMemoryLimitBytes(options, memoryBytes())
    : undefined
  await checkAdminPort(adminPlace(command))
  let ready = false
  const membership = await join(command, accounts, smbUsers, log)
  const clock = membership?.clock ?? Date.now
  const server = await runServer({
    options, location, memoryLimitBytes, accounts, smbUsers, clock, wallClock: clock, log,
    services: command.services,
    webPortMayMove: !command.given.has('webPort'),
    dfsPortMayMove: !command.given.has('dfsPort'),
    ...(membership !== undefined && { membership }),
  }).catch(async (error: unknown) => {
    await membership?.store.close()
    throw error
  }) // prettier-ignore
  const admin = await startAdminOrClose(
    command,
    server,
    log,
    () => ready && membership?.cluster.isBeating() !== false,
    () => membership?.listNodes() ?? [],
  )
  const close = async (): Promise<void> => {
    ready = false
    for (const { service } of server.endpoints) log.say(closingLine(program, service))
    await server.close()
    await admin.close()
    for (const { service } of server.endpoints) log.say(closedLine(program, service))
    await log.close()
  }
  onShutdown({
    process,
    close,
    exit: (code) => process.exit(code),
    report: (text) => log.error(text),
  })
  const known = accounts.names().flatMap((name) => accounts.get(name) ?? [])
  const hosts = server.endpoints.map(({ host }) => host)
  const keyWarning = wellKnownKeyWarning(hosts, known)
  const warnings = keyWarning === undefined ? [] : [keyWarning]
  if (acceptsForgedTokens(options)) warnings.push(FORGED_TOKENS)
  const banner = bannerLines({
    version: VERSION,
    endpoints: server.endpoints,
    adminUrl: admin.url,
    controlToken: admin.generatedToken,
    websiteUrl: urlOf(server.tls ? 'https' : 'http', options.webHost, server.webPort),
    location: membership?.location ?? location,
    accounts: known,
    ...(smbUsers && { smbUsers: smbUsers.identities() }),
    ca: server.tls?.ca,
    platform: platform(),
    warnings,
  })
  for (const line of banner) log.say(line)
  if (memoryLimitBytes !== undefined) log.say(memoryLine(memoryLimitBytes, memoryBytes()))
  for (const endpoint of server.endpoints) {
    if (program !== 'lazuli') log.say(startingLine(program, endpoint))
    log.say(listeningLine(program, endpoint))
  }
  ready = true
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
  const { openMembership } = await import('./run/open-membership.ts')
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
  ready: () => boolean,
  nodes: AdminSettings['nodes'],
): Promise<Admin> {
  try {
    return await startAdmin({
      ...adminPlace(command),
      acceptsHost: hostRule(allowedHosts(command.options)),
      ready,
      nodes,
      parts: server.parts,
      access: { control: command.options.control, token: command.options.controlToken },
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
