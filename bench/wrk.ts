// Drives a server with wrk and reads the result that load.lua prints. wrk runs with one thread, which leaves one core to
// the server.
import { spawn, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The request; `{n}` in the path or the body becomes a number of ten digits. */
export type LoadRequest = {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export type Load = {
  readonly request: LoadRequest
  /** Numbers before they repeat; 0 for never. */
  readonly numberCount: number
  readonly firstNumber: number
  readonly order?: 'sequence' | 'scatter'
  readonly connectionCount: number
  readonly durationS: number
  /** A folder for the file with the request. */
  readonly folder: string
}

export type Outcome = {
  readonly requests: number
  readonly durationUs: number
  readonly bytes: number
  /** Responses with status 400 and above. */
  readonly refused: number
  /** Connections that failed, broke or timed out. */
  readonly broken: number
  readonly p50Us: number
  readonly p99Us: number
  readonly nextNumber: number
}

/** The width of the numbers in load.lua. */
const NUMBER_WIDTH = 10
/** Azurite needs seconds for a page of a list if 32 are requested at once. */
const ANSWER_S_MAX = 30

export function numbered(text: string, number: number): string {
  return text.replaceAll('{n}', String(number).padStart(NUMBER_WIDTH, '0'))
}

export function encodeRequest({ method, url, headers = {}, body = '' }: LoadRequest): string {
  const { host } = new URL(url)
  const path = url.slice(url.indexOf('/', 'http://'.length))
  const lengthBytes = Buffer.byteLength(numbered(body, 0))
  const length = method === 'GET' ? {} : { 'Content-Length': String(lengthBytes) }
  const lines = Object.entries({ Host: host, ...length, ...headers }).map(([k, v]) => `${k}: ${v}`)
  return [`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n')
}

export async function drive(load: Load): Promise<Outcome> {
  // Several may run at the same time.
  const file = join(load.folder, `request-${new URL(load.request.url).port}.http`)
  await writeFile(file, encodeRequest(load.request))
  const script = join(import.meta.dirname, 'load.lua')
  const options = `-t 1 -c ${load.connectionCount} -d ${load.durationS}s --timeout ${ANSWER_S_MAX}s`
  const { origin } = new URL(load.request.url)
  const numbers = [load.firstNumber, load.numberCount].map(String)
  const args = [...options.split(' '), '-s', script, origin, '--', file, ...numbers]
  if (load.order !== undefined) args.push(load.order)
  const output = await run('wrk', args, (load.durationS + ANSWER_S_MAX) * 1000)
  return decodeOutcome(output)
}

export function decodeOutcome(output: string): Outcome {
  const line = output.split('\n').find((line) => line.startsWith('{'))
  if (line === undefined) throw new Error(`wrk printed no result:\n${output}`)
  return JSON.parse(line) as Outcome
}

function run(command: string, args: readonly string[], durationMsMax: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { timeout: durationMsMax, killSignal: 'SIGKILL' })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${command} ended with ${code}:\n${output}`))
    })
  })
}

/** Returns wrk's version. Installs it if the user is root on a system with apt-get. */
export function requireWrk(): string {
  const version = wrkVersion()
  if (version !== undefined) return version
  const mayInstall = process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0
  if (mayInstall) {
    console.error('wrk is missing; installing it: apt-get install -y wrk')
    spawnSync('apt-get', ['install', '-y', 'wrk'], { stdio: ['ignore', 2, 2] })
  }
  const installed = wrkVersion()
  if (installed !== undefined) return installed
  throw new Error('The benchmark needs wrk. Install it: apt-get install wrk, or brew install wrk')
}

/** `wrk -v` prints its version and usage, and exits with 1. */
function wrkVersion(): string | undefined {
  const { error, stdout } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
  return error === undefined ? /^wrk \S+/.exec(stdout)?.[0] : undefined
}
