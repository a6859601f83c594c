// The compared servers, each a child process on free ports with a folder of its own. They all print their ports in the
// same words ('Blob service is successfully listening at …').
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { call } from './call.ts'
import { ACCOUNT, accountSas } from './sas.ts'

export type TargetName =
  'lazuli' | 'before' | 'azurite' | 'bare' | 'node-1' | 'node-2' | 'node-3' | 'node-folder'
export type Service = 'blob' | 'queue' | 'table' | 'file'

export type Target = {
  readonly name: TargetName
  readonly title: string
  readonly services: readonly Service[]
  readonly args: (location: string, store: string) => readonly string[]
  /** Nodes of a cluster; all other servers are one process. */
  readonly nodeCount?: number
}

const ROOT = join(import.meta.dirname, '..')
const AZURITE = join(ROOT, 'node_modules/azurite/dist/src/azurite.js')

function lazuliIn(checkout: string): Pick<Target, 'services' | 'args'> {
  return {
    services: ['blob', 'queue', 'table', 'file'],
    args: (location) => [
      join(checkout, 'src/main.js'),
      ...'--blobPort 0 --queuePort 0 --tablePort 0 --filePort 0 --smbPort 0'.split(' '),
      ...'--adminPort 0 --silent --location'.split(' '),
      location,
    ],
  }
}

const NODE_PORTS =
  '--blobPort 0 --queuePort 0 --tablePort 0 --filePort 0 --smbPort 0 --adminPort 0 --nodePort 0 --webPort 0'

function nodes(name: TargetName, title: string, nodeCount: number, more = ''): Target {
  return {
    name,
    title,
    nodeCount,
    services: ['blob', 'queue', 'table', 'file'],
    args: (location, store) => [
      join(ROOT, 'src/main.js'),
      ...NODE_PORTS.split(' '),
      '--silent',
      '--store',
      store,
      ...(more === '' ? [] : ['--bytes', `folder:${join(location, more)}`]),
    ],
  }
}

/** Nodes on PostgreSQL. */
export const NODE_TARGETS: readonly Target[] = [
  nodes('node-1', '1 node', 1),
  nodes('node-2', '2 nodes', 2),
  nodes('node-3', '3 nodes', 3),
  nodes('node-folder', '1 node, bytes in a folder', 1, 'bytes'),
]

/** Lazuli from another checkout, to compare with this one. */
export function beforeTarget(checkout: string): Target {
  return { name: 'before', title: 'Lazuli before', ...lazuliIn(checkout) }
}

export const TARGETS: readonly Target[] = [
  { name: 'lazuli', title: 'Lazuli', ...lazuliIn(ROOT) },
  {
    name: 'azurite',
    title: 'Azurite',
    services: ['blob', 'queue', 'table'],
    args: (location) => [
      AZURITE,
      ...'--blobPort 0 --queuePort 0 --tablePort 0 --silent'.split(' '),
      ...'--skipApiVersionCheck --disableTelemetry --location'.split(' '),
      location,
    ],
  },
  {
    name: 'bare',
    title: 'bare',
    services: ['blob'],
    args: () => [join(ROOT, 'bench/bare.ts')],
  },
]

export type StartOptions = {
  readonly location: string
  /** The URL of a database. */
  readonly store?: string
  readonly nodeArgs?: readonly string[]
}

/** A running server, with the time from spawn to its first successful response. */
export type Running = {
  readonly target: Target
  readonly pid: number
  /** The processes that share the load. */
  readonly members: readonly Running[]
  readonly sas: string
  readonly listeningMs: number
  readonly readyMs: number
  /** 'http://127.0.0.1:1234/devstoreaccount1'; throws if the server does not have the service. */
  endpoint(service: Service): string
  pause(): void
  resume(): void
  stop(): Promise<void>
}

const START_MS_MAX = 30_000
const STOP_MS_MAX = 30_000
const children = new Set<ChildProcess>()

/** No server may outlive the benchmark, not even a paused one. */
export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

export async function start(target: Target, options: StartOptions): Promise<Running> {
  const first = await startOne(target, options)
  const members = [first]
  while (members.length < (target.nodeCount ?? 1)) members.push(await startOne(target, options))
  return {
    ...first,
    members,
    pause: () => members.forEach((member) => member.pause()),
    resume: () => members.forEach((member) => member.resume()),
    stop: async () => {
      await Promise.all(members.map((member) => member.stop()))
    },
  }
}

async function startOne(target: Target, options: StartOptions): Promise<Running> {
  await mkdir(options.location, { recursive: true })
  const args = [...(options.nodeArgs ?? []), ...target.args(options.location, options.store ?? '')]
  const startedMs = performance.now()
  // Earlier versions, which --against compares with, have no such flag; they ignore the variable.
  const env = { ...process.env, LAZULI_DFS_PORT: '0' }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  children.add(child)
  child.once('exit', () => children.delete(child))
  const endpoints = new Map<string, string>()
  const { blob, all } = listening(child, target, endpoints)
  await blob
  const listeningMs = performance.now() - startedMs
  const sas = accountSas()
  await firstAnswer(`${endpoints.get('blob')}?comp=list&${sas}`, startedMs)
  const readyMs = performance.now() - startedMs
  await all
  return {
    target,
    pid: child.pid ?? 0,
    members: [],
    sas,
    listeningMs,
    readyMs,
    endpoint(service) {
      const url = endpoints.get(service)
      if (url === undefined) throw new Error(`${target.title} has no ${service} service`)
      return url
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop: () => stop(child, target),
  }
}

/** Resolves when the Blob service is listening, and when all services are. */
function listening(child: ChildProcess, target: Target, endpoints: Map<string, string>) {
  let hasBlob = (): void => undefined
  const blob = new Promise<void>((resolve) => (hasBlob = resolve))
  const all = new Promise<void>((resolve, reject) => {
    let output = ''
    const fail = (why: string) =>
      reject(new Error(`${target.title} ${why}\n${output.slice(-2000)}`))
    const timer = setTimeout(() => fail('did not start in time'), START_MS_MAX)
    child.once('exit', (code) => fail(`ended with ${code} before it was ready`))
    child.stderr?.on('data', (chunk) => (output = (output + chunk).slice(-10_000)))
    child.stdout?.on('data', (chunk) => {
      output = (output + chunk).slice(-10_000)
      for (const [, service = '', origin] of output.matchAll(LISTENING))
        endpoints.set(service.toLowerCase(), `${origin}/${ACCOUNT}`)
      if (endpoints.has('blob')) hasBlob()
      if (!target.services.every((service) => endpoints.has(service))) return
      clearTimeout(timer)
      resolve()
    })
  })
  return { blob: Promise.race([blob, all]), all }
}

const LISTENING = /(\w+) service is successfully listening at (http:\/\/[\w.]+:\d+)\b/g

async function firstAnswer(url: string, startedMs: number): Promise<void> {
  for (;;) {
    const status = await call(url).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) return
    if (performance.now() - startedMs > START_MS_MAX) throw new Error(`${url}: last ${status}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function stop(child: ChildProcess, target: Target): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGCONT')
  child.kill('SIGTERM')
  const timer = setTimeout(() => {
    console.error(`${target.title} did not stop on SIGTERM; killed`)
    child.kill('SIGKILL')
  }, STOP_MS_MAX)
  await ended
  clearTimeout(timer)
}

/**
 * User CPU time of a process. Kernel time is left out, since it depends on which thread sleeps when data arrives. Linux
 * counts in steps of 10 ms.
 */
export function userCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Skip the name, which may contain spaces; field 14 is the user time (man 5 proc).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) * 10
}

export type Memory = { readonly totalMiB: number; readonly anonymousMiB: number }

/** Resident memory. The total includes pages of mapped files, which the system can reclaim at any time. */
export function memory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024
  return { totalMiB: mib('VmRSS'), anonymousMiB: mib('RssAnon') }
}
