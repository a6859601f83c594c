// Lazuli as a user runs it: a separate process, observed by its output, exit code and ports.
import { spawn, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rawRequest, type RawResponse } from './harness.ts'

export const MAIN = fileURLToPath(new URL('../src/main.js', import.meta.url))

/** Node's compile cache; it halves the time of a start. */
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/lazuli-test', import.meta.url))

export type Launch = {
  /** The program and its first arguments; Lazuli from its source if left out. */
  readonly program?: readonly [string, ...string[]]
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export type Ended = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export type Running = {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  stdout(): string
  /** Waits for the first match in stdout or stderr; rejects if the process ends without one. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
}

const ANY_PORTS = {
  LAZULI_QUEUE_PORT: '0',
  LAZULI_TABLE_PORT: '0',
  LAZULI_FILE_PORT: '0',
  LAZULI_DFS_PORT: '0',
  LAZULI_SMB_PORT: '0',
}

const children = new Set<ChildProcess>()
const folders: string[] = []

/** For `after`: ends all processes and removes all folders of the tests. */
export async function cleanUp(): Promise<void> {
  const ends = [...children].map((child) => once(child, 'close'))
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(ends)
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

export function tempFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `lazuli-${name}-`))
  folders.push(folder)
  return folder
}

export function launch({ program = [process.execPath, MAIN], args, cwd, env }: Launch): Running {
  const [file, ...before] = program
  const child = spawn(file, [...before, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Tests run in parallel, so services get free ports unless a test sets them.
    env: { ...plainEnv(), ...ANY_PORTS, ...env },
    ...(cwd !== undefined && { cwd }),
  })
  children.add(child)
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      children.delete(child)
      resolve({ code, signal, stdout, stderr })
    })
  })
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(stdout) ?? pattern.exec(stderr)
        if (match !== null) resolve(match)
      }
      look()
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      const missed = (why: unknown) => reject(new Error(`never printed ${pattern}: ${String(why)}`))
      ended.then((end) => missed(JSON.stringify(end)), missed)
    })
  return { child, ended, stdout: () => stdout, printed }
}

/** The environment without settings for a Lazuli server, which must not affect the tests. */
function plainEnv(): NodeJS.ProcessEnv {
  const foreign = /^(LAZULI|AZURITE)_|^NODE_TEST_CONTEXT$|^NODE_OPTIONS$/
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  return { ...Object.fromEntries(kept), NODE_COMPILE_CACHE: COMPILE_CACHE }
}

/** Runs the process to its end. */
export function run(started: Launch): Promise<Ended> {
  return launch(started).ended
}

export type ServerProcess = Running & {
  /** http://127.0.0.1:port */
  readonly blobUrl: string
  readonly blobPort: number
  readonly adminUrl: string
}

/** The last line of a start. */
export const READY = /Lazuli is ready; its console is at (http[^\s"]+)\//

const ANY_PORT = ['--blobPort', '0', '--adminPort', '0'] as const

export async function startServerProcess({ args, ...rest }: Launch): Promise<ServerProcess> {
  const running = launch({ args: [...ANY_PORT, ...args], ...rest })
  const [, blobUrl = ''] = await running.printed(
    /Blob service (?:is successfully listening at|successfully listens on) (http[^\s"]+)/,
  )
  const [, adminUrl = ''] = await running.printed(READY)
  return { ...running, blobUrl, blobPort: Number(new URL(blobUrl).port), adminUrl }
}

export async function stop(server: Running, signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
  server.child.kill(signal)
  return server.ended
}

export type Account = { readonly name: string; readonly key: string }

/**
 ** An account SAS for requests as an account other than the harness's.
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas
 */
export function accountSas({ name, key }: Account): string {
  const fields = { sp: 'rwdlac', ss: 'b', srt: 'sco', se: '2099-01-01T00:00:00Z', sv: '2023-11-03' }
  const { sp, ss, srt, se, sv } = fields
  const text = [name, sp, ss, srt, '', se, '', '', sv, '', ''].join('\n')
  const sig = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
  return new URLSearchParams({ ...fields, sig }).toString()
}

type Place = Pick<ServerProcess, 'blobPort'>

export function createContainer(server: Place, container: string): Promise<RawResponse> {
  return rawRequest(server, { method: 'PUT', path: `/${container}?restype=container` })
}

export function putBlob(server: Place, path: string, body: Uint8Array): Promise<RawResponse> {
  const headers = { 'x-ms-blob-type': 'BlockBlob' }
  return rawRequest(server, { method: 'PUT', path, headers, body })
}

export function getBlob(server: Place, path: string): Promise<RawResponse> {
  return rawRequest(server, { method: 'GET', path })
}

export function deleteBlob(server: Place, path: string): Promise<RawResponse> {
  return rawRequest(server, { method: 'DELETE', path })
}
