// The server as a program: starts it as the command line says, prints where it is, and stops it on a signal.
import { platform, totalmem } from 'node:os'
import type { SmbUsers } from '../auth/smb/smb-users.ts'
import { hostRule } from '../http/protocol/allowed-host.ts'
import { hasOwnKey, openAccounts, wellKnownKeyWarning } from '../start/account/accounts.ts'
import { openSmbUsers } from '../start/account/smb-users.ts'
import {
  checkAdminPort,
  startAdmin,
  type Admin,
  type AdminIdentity,
  type AdminSettings,
} from '../start/admin/admin.ts'
import { stderrProgress } from '../start/copy/stderr-progress.ts'
import { urlOf } from '../start/host.ts'
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
} from '../start/log/banner.ts'
import { openLog, type Log } from '../start/log/log.ts'
import { movedPorts } from '../start/log/moved-ports.ts'
import type { StartCommand } from '../start/options/command.ts'
import { unknownVariables } from '../start/options/decode-options.ts'
import {
  acceptsForgedTokens,
  allowedHosts,
  extentMemoryLimitBytes,
  type Options,
} from '../start/options/options.ts'
import { movingPorts } from '../start/options/services.ts'
import { onShutdown } from '../start/shutdown.ts'
import { locationPath } from '../start/store/location.ts'
import {
  announceServer,
  newServerId,
  retractServer,
  type AnnouncedServer,
} from '../start/store/running-server.ts'
import { VERSION } from '../start/version.ts'
import type { Accounts } from '../storage/shared/account.ts'
import type { JoinedCluster } from './cluster/open-membership.ts'
import { runServer, type RunningServer } from './server.ts'

const FORGED_TOKENS =
  'the signatures of bearer tokens are not checked, so anyone can forge one. ' +
  'Add --oauthIssuer URL to accept only tokens that are signed by an issuer.'

const WATCH_EVERY_MS = 2_000

/** Resolves when the server is ready. It runs until a signal stops the process. */
export async function startServerProcess(command: StartCommand): Promise<void> {
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
  const { openMembership } = await import('./cluster/open-membership.ts')
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

/** Azurite's data in the place where it would look for it, at the first start there. */
async function importAtStart(
  { options, program }: StartCommand,
  location: string,
  log: Log,
): Promise<void> {
  const { pendingImport } = await import('./azurite/pending.ts')
  const ownLocation = program === 'lazuli' ? undefined : process.cwd()
  const azuriteLocation = options.location === undefined ? ownLocation : location
  const from = pendingImport({ location, azuriteLocation })
  if (from === undefined) return
  const { importLines, runImport } = await import('./azurite/command.ts')
  log.say(`importing the data of Azurite from ${from} …`)
  const pending = { from, location, services: undefined }
  const imported = await runImport(pending, { log, progress: await stderrProgress() })
  for (const line of importLines(pending, imported)) log.say(line)
}
