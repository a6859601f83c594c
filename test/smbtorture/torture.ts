// smbtorture, Samba's own test suite for SMB servers, run against a server of this process: which tests passed.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ShareServiceClient } from '@azure/storage-file-share'
import { startServer, type LazuliServer } from '../../src/server.ts'

export type TortureOutcome = 'success' | 'failure' | 'error' | 'skip' | 'timeout' | 'missing'
export type TortureResult = {
  readonly test: string
  readonly outcome: TortureOutcome
  /** What smbtorture says of a failure. */
  readonly reason: string
}

export type TortureServer = { readonly server: LazuliServer; close(): Promise<void> }

/** The two accounts that the tests log in as; keys are base64, and their text is the password. */
const KEYS = { smbt1: passwordOf('smbt1'), smbt2: passwordOf('smbt2') } as const
const SHARE = 'torture'
/** That some tests want to be there, too. */
const OTHER_SHARES = ['noperm', 'hideunread'] as const

function passwordOf(name: string): string {
  return Buffer.from(`the key of ${name}`).toString('base64')
}

export function namesIn(file: 'core.txt' | 'stretch.txt'): readonly string[] {
  return linesOf(file)
}

/** Test → why it fails. */
export function knownFailures(): ReadonlyMap<string, string> {
  return new Map(
    linesOf('known-failures.txt').map((line) => {
      const [name = '', reason = ''] = line.split(': ', 2)
      return [name, reason]
    }),
  )
}

function linesOf(file: string): string[] {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

export async function startTortureServer(): Promise<TortureServer> {
  const server = await startServer({ accounts: KEYS })
  const client = ShareServiceClient.fromConnectionString(server.connectionString)
  for (const name of [SHARE, ...OTHER_SHARES]) await client.createShare(name)
  return { server, close: () => server.close() }
}

export type TortureSettings = {
  readonly port: number
  /** The whole run of smbtorture ends after this. */
  readonly limitMs: number
  /** Further arguments, such as `--client-protection=encrypt`. */
  readonly args?: readonly string[]
}

/** Tests in one process of smbtorture, one after the other. */
export function runTorture(
  tests: readonly string[],
  { port, limitMs, args = [] }: TortureSettings,
): Promise<readonly TortureResult[]> {
  const child = spawn(
    'smbtorture',
    [
      `//127.0.0.1/${SHARE}`,
      '-p',
      String(port),
      '-U',
      `smbt1%${KEYS.smbt1}`,
      '--format=subunit',
      '--fullname',
      '--option=torture:user2name=smbt2',
      `--option=torture:user2password=${KEYS.smbt2}`,
      ...args,
      ...tests,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')))
  child.stderr.resume()
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', () => {
      clearTimeout(timer)
      resolve(resultsOf(tests, output))
    })
  })
}

const RESULT = /^(success|successful|failure|error|skip): (.+?)(?: \[\n([\s\S]*?)^\])?$/gm

function resultsOf(tests: readonly string[], output: string): readonly TortureResult[] {
  const found = new Map<string, TortureResult>()
  for (const [, word = '', name = '', reason = ''] of output.matchAll(RESULT)) {
    const outcome = word === 'successful' ? 'success' : (word as TortureOutcome)
    const test = plainName(name)
    found.set(test, { test, outcome, reason: reason.trim() })
  }
  const begun = [...output.matchAll(/^test: (.+)$/gm)].map(([, name = '']) => plainName(name))
  return tests.map((test) => {
    const outcome = begun.includes(test) ? 'timeout' : 'missing'
    return found.get(test) ?? { test, outcome, reason: '' }
  })
}

/** A suite of one test says its name twice: smb2.connect.connect. */
function plainName(name: string): string {
  const parts = name.split('.')
  return parts.length > 2 && parts.at(-1) === parts.at(-2) ? parts.slice(0, -1).join('.') : name
}

/** smb2.lock.rw-none is of the suite smb2.lock. */
export function suiteOf(test: string): string {
  return test.split('.').slice(0, 2).join('.')
}
