// Runs smbtorture, Samba's own test suite for SMB servers, against a server in this process and reports the outcomes.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ShareServiceClient } from '@azure/storage-file-share'
import { startServer, type LazuliServer } from '../../src/server.ts'

export type TortureOutcome = 'success' | 'failure' | 'error' | 'skip' | 'timeout' | 'missing'
export type TortureResult = {
  readonly test: string
  readonly outcome: TortureOutcome
  /** The output of smbtorture for a failure. */
  readonly reason: string
}

export type TortureServer = { readonly server: LazuliServer; close(): Promise<void> }

const ACCOUNT = 'smbt1'
/** The password is the text of the account's key, in base64. */
const KEYS = { smbt1: passwordOf('smbt1'), smbt2: passwordOf('smbt2') } as const
/** Two users of the account, to whom security descriptors apply, for the logins of the tests. */
const USERS = ['torture1', 'torture2'].map((user) => {
  return { user, account: ACCOUNT, password: passwordOf(user) }
})
const SHARE = 'torture'
/** Grants everyone all rights in the share, as in Samba's. */
const ROOT_PERMISSION = 'O:SYG:SYD:(A;OICI;FA;;;WD)'
/** A second share that some tests need. */
const OTHER_SHARES = ['noperm', 'hideunread'] as const

function passwordOf(name: string): string {
  return Buffer.from(`the key of ${name}`).toString('base64')
}

export function namesIn(file: 'core.txt' | 'stretch.txt'): readonly string[] {
  return linesOf(file)
}

/** The reason why each test fails. */
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
  const server = await startServer({ accounts: KEYS, smbUsers: USERS })
  const client = ShareServiceClient.fromConnectionString(server.connectionString)
  for (const name of [SHARE, ...OTHER_SHARES]) {
    const { shareClient } = await client.createShare(name)
    await shareClient.rootDirectoryClient.setProperties({ filePermission: ROOT_PERMISSION })
  }
  return { server, close: () => server.close() }
}

export type TortureSettings = {
  readonly port: number
  /** The time limit for each run of smbtorture. */
  readonly limitMs: number
  /** Further arguments, such as `--client-protection=encrypt`. */
  readonly args?: readonly string[]
}

/** The arguments that give smbtorture the user and a second one. */
function loginArgs(isSuperuser: boolean): readonly string[] {
  const [first, second] = isSuperuser
    ? Object.entries(KEYS)
    : USERS.map(({ user, password }) => [user, password])
  return [
    '-U',
    first?.join('%') ?? '',
    `--option=torture:user2name=${second?.[0]}`,
    `--option=torture:user2password=${second?.[1]}`,
  ]
}

/** Runs tests in sequence: those that need it as the account, which no descriptor limits, the others as a user. */
export async function runTorture(
  tests: readonly string[],
  settings: TortureSettings,
): Promise<readonly TortureResult[]> {
  const superuser = new Set(linesOf('superuser.txt'))
  const results: TortureResult[] = []
  for (const isSuperuser of [false, true]) {
    const own = tests.filter((test) => superuser.has(test) === isSuperuser)
    if (own.length > 0) results.push(...(await runAs(isSuperuser, own, settings)))
  }
  return tests.flatMap((test) => results.find((result) => result.test === test) ?? [])
}

/** Runs the tests in one smbtorture process. */
function runAs(
  isSuperuser: boolean,
  tests: readonly string[],
  { port, limitMs, args = [] }: TortureSettings,
): Promise<readonly TortureResult[]> {
  const child = spawn(
    'smbtorture',
    [
      `//127.0.0.1/${SHARE}`,
      '-p',
      String(port),
      ...loginArgs(isSuperuser),
      '--format=subunit',
      '--fullname',
      ...args,
      ...tests,
    ],
    // smbtorture leaves folders in its working directory.
    { stdio: ['ignore', 'pipe', 'pipe'], cwd: tmpdir() },
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
    const test = nameOf(tests, name)
    found.set(test, { test, outcome, reason: reason.trim() })
  }
  const begun = [...output.matchAll(/^test: (.+)$/gm)].map(([, name = '']) => nameOf(tests, name))
  return tests.map((test) => {
    const outcome = begun.includes(test) ? 'timeout' : 'missing'
    return found.get(test) ?? { test, outcome, reason: '' }
  })
}

/** A suite with one test prints its name twice: smb2.connect.connect. */
function nameOf(tests: readonly string[], printed: string): string {
  return tests.includes(printed) ? printed : printed.split('.').slice(0, -1).join('.')
}

/** smb2.lock.rw-none belongs to the suite smb2.lock. */
export function suiteOf(test: string): string {
  return test.split('.').slice(0, 2).join('.')
}
