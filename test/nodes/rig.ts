// Nodes of a cluster on PostgreSQL, in this process or in processes of their own, behind one port per service that
// spreads requests over them.
import assert from 'node:assert/strict'
import type { SmbUsers } from '../../src/auth/smb/smb-users.ts'
import type { FileService } from '../../src/rest/file/service.ts'
import type { Accounts } from '../../src/storage/shared/account.ts'
import type { Clock } from '../../src/start/store/store.ts'
import { runServer, type RunningServer } from '../../src/run/server.ts'
import { openMembership, type JoinedCluster } from '../../src/run/cluster/open-membership.ts'
import { fixedAccounts } from '../../src/start/account/accounts.ts'
import { openLog } from '../../src/start/log/log.ts'
import { defaultOptions, type Options } from '../../src/start/options/options.ts'
import { launch, READY, type Running } from '../server-process.ts'
import { startBalancer } from './balancer.ts'

export const SERVICES = ['blob', 'queue', 'table', 'file', 'dfs', 'smb'] as const

export type ServiceName = (typeof SERVICES)[number]

export type Ports = Readonly<Record<ServiceName, number>>

type HasPorts = { readonly ports: Ports }

/** Several nodes as one server. */
export type Front = HasPorts & { close(): Promise<void> }

/** `nodes` returns those that are alive now. */
export async function startFront(nodes: () => readonly HasPorts[]): Promise<Front> {
  const started = await Promise.all(
    SERVICES.map((service) => startBalancer(() => nodes().map(({ ports }) => ports[service]))),
  )
  return {
    ports: portsOf((service) => started[SERVICES.indexOf(service)]?.port),
    close: async () => {
      await Promise.all(started.map((balancer) => balancer.close()))
    },
  }
}

function portsOf(port: (service: ServiceName) => number | undefined): Ports {
  const entries = SERVICES.map((service) => {
    const found = port(service)
    assert(found !== undefined, `${service} has no port`)
    return [service, found] as const
  })
  return Object.fromEntries(entries) as Ports
}

const ANY_PORTS = {
  blobPort: 0,
  queuePort: 0,
  tablePort: 0,
  filePort: 0,
  smbPort: 0,
  dfsPort: 0,
  webPort: 0,
}

/** A node in this process. */
export type LocalNode = HasPorts & {
  readonly joined: JoinedCluster
  readonly server: RunningServer
  /** The log so far. */
  logged(): string
  close(): Promise<void>
}

export type LocalNodeSettings = {
  readonly url: string
  readonly name?: string
  /** By default, the database's. */
  readonly clock?: Clock
  readonly options?: Partial<Options>
  readonly accounts?: Accounts
  readonly smbUsers?: SmbUsers
  /** All, if left out. */
  readonly services?: readonly ServiceName[]
  readonly onExpelled?: () => void
  /** As in RunSettings. */
  readonly after?: FileService['after']
}

export async function startLocalNode(settings: LocalNodeSettings): Promise<LocalNode> {
  const { url, name = 'node', clock, smbUsers, after } = settings
  const { accounts = fixedAccounts(), services = SERVICES } = settings
  const { onExpelled = () => assert.fail('expelled') } = settings
  const options = defaultOptions({
    ...ANY_PORTS,
    nodePort: 0,
    nodeName: name,
    store: url,
    silent: false,
    logLevel: 'warn',
    ...settings.options,
  })
  let text = ''
  const stdout = {
    write: (more: string) => {
      text += more
      return true
    },
    once: () => undefined,
  }
  const log = await openLog({ options, stdout, clock: Date.now })
  const joined = await openMembership({
    url, options, accounts, smbUsers, log, onExpelled, clock,
    env: {},
    say: () => undefined,
    version: '0',
    hasFiles: true,
  }) // prettier-ignore
  const server = await runServer({
    options, accounts, smbUsers, log, services,
    location: undefined,
    memoryLimitBytes: undefined,
    clock: joined.clock,
    // A clock that a test controls is not that of its clients.
    ...(clock === undefined && { wallClock: joined.clock }),
    mayMove: ['dfs', 'web'],
    membership: joined,
    ...(after !== undefined && { after }),
  }) // prettier-ignore
  return {
    joined,
    server,
    ports: portsOf((each) => server.endpoints.find(({ service }) => service === each)?.port ?? 0),
    logged: () => text,
    close: async () => {
      await server.close()
      await log.close()
    },
  }
}

/** A node as users run it. */
export type NodeProcess = Running & HasPorts & { readonly adminUrl: string }

export type NodeProcessSettings = {
  readonly url: string
  readonly name: string
  readonly args?: readonly string[]
  /** By default, it prints errors and the lines that tools wait for. */
  readonly isSilent?: boolean
  /** How far the clock of its machine is ahead. */
  readonly clockAheadMs?: number
  readonly env?: Readonly<Record<string, string>>
}

const SHIFTED_CLOCK = new URL('shifted-clock.ts', import.meta.url).href

/** The environment of a Node whose machine has a wrong clock. */
export function shiftedClock(aheadMs: number): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, CLOCK_AHEAD_MS: String(aheadMs) }
}

export function launchNode(settings: NodeProcessSettings): Running {
  const { url, name, args = [], isSilent = true, clockAheadMs, env = {} } = settings
  const ports = ['--blobPort', '0', '--adminPort', '0', '--nodePort', '0']
  const silent = isSilent ? ['--silent'] : []
  return launch({
    args: [...ports, ...silent, '--nodeName', name, '--store', url, ...args],
    env: { ...env, ...(clockAheadMs !== undefined && shiftedClock(clockAheadMs)) },
  })
}

export async function startNodeProcess(settings: NodeProcessSettings): Promise<NodeProcess> {
  const running = launchNode(settings)
  const [, adminUrl = ''] = await running.printed(READY)
  const text = running.stdout()
  const port = (service: string): number | undefined => {
    const found = new RegExp(`${service} service is \\D*127\\.0\\.0\\.1:(\\d+)`, 'i').exec(text)
    return found === null ? undefined : Number(found[1])
  }
  return { ...running, ports: portsOf(port), adminUrl }
}

/** The first one has all roles. */
export async function startNodeProcesses(url: string, count: number): Promise<NodeProcess[]> {
  const names = Array.from({ length: count }, (_, at) => `n${at + 1}`)
  const [first = '', ...others] = names
  const node = await startNodeProcess({ url, name: first })
  return [node, ...(await Promise.all(others.map((name) => startNodeProcess({ url, name }))))]
}

/** Resolves when `probe` returns true. For what happens in another process; the test runner's limit ends the wait. */
export async function until(probe: () => Promise<boolean>): Promise<void> {
  while (!(await probe())) await new Promise((resolve) => setTimeout(resolve, 50))
}
