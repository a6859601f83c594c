// A soak: a server in a process of its own, traffic, samples, and at the end a sweep, the size of the folder and fsck.
import { execFile, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { MAIN, run } from '../server-process.ts'
import type { Measured } from '../process-measure.ts'
import type { Ask, Ports } from './server.ts'
import { startTraffic, type Traffic } from './traffic.ts'
import { p99, verdictOf, type Ending, type Sample, type Verdict } from './verdict.ts'

export type SoakTerms = {
  readonly seconds: number
  readonly sampleCount: number
  readonly clientCount: number
  readonly seed: number
  /** Called after each sample. */
  readonly onSample?: (sample: Sample, at: number) => void
}

export type SoakResult = {
  readonly samples: readonly Sample[]
  readonly ending: Ending
  readonly verdict: Verdict
  readonly operationCount: number
  /** Files put and got with Samba's client; 0 if it is not installed. */
  readonly smbclientCount: number
}

const SERVER = fileURLToPath(new URL('server.ts', import.meta.url))
const SMBCLIENT = '/usr/bin/smbclient'

export async function soak(terms: SoakTerms): Promise<SoakResult> {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-soak-'))
  const child = fork(SERVER, [join(folder, 'data')])
  try {
    const ports = (await answerOf(child)) as Ports
    const traffic = await startTraffic(ports, terms.clientCount, terms.seed)
    const { samples, smbclientCount } = await drive(terms, { child, traffic, ports, folder })
    const ending = await end(child, traffic, join(folder, 'data'))
    const operationCount = samples.reduce((sum, sample) => sum + sample.operationCount, 0)
    return { samples, ending, verdict: verdictOf(samples, ending), operationCount, smbclientCount }
  } finally {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}

async function ask(child: ChildProcess, what: Ask): Promise<unknown> {
  const answer = answerOf(child)
  child.send(what)
  return answer
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const { signal } = over
  const gone = once(child, 'exit', { signal }).then(() => {
    throw new Error('the server has ended')
  })
  try {
    const [answer] = await Promise.race([once(child, 'message', { signal }), gone])
    return answer
  } finally {
    // The one that lost waits no longer.
    gone.catch(() => undefined)
    over.abort()
  }
}

type Running = {
  readonly child: ChildProcess
  readonly traffic: Traffic
  readonly ports: Ports
  readonly folder: string
}

async function drive({ seconds, sampleCount, onSample }: SoakTerms, running: Running) {
  const { child, traffic, ports, folder } = running
  const over = new AbortController()
  const working = traffic.run(over.signal)
  const samples: Sample[] = []
  let smbclientCount = 0
  for (let at = 0; at < sampleCount; at += 1) {
    await setTimeout((seconds * 1_000) / sampleCount)
    smbclientCount += await withSmbclient(ports, folder)
    const sample = sampleOf((await ask(child, 'sample')) as Measured, traffic)
    samples.push(sample)
    onSample?.(sample, at)
  }
  over.abort()
  await working
  return { samples, smbclientCount }
}

function sampleOf(measured: Measured, traffic: Traffic): Sample {
  const taken = [...traffic.take()]
  return {
    ...measured,
    p99Ms: Object.fromEntries(taken.map(([name, durations]) => [name, p99(durations)])),
    operationCount: taken.reduce((sum, [, { length }]) => sum + length, 0),
  }
}

/** Samba's client, too, if it is installed. */
async function withSmbclient({ smb }: Ports, folder: string): Promise<number> {
  if (!existsSync(SMBCLIENT)) return 0
  const local = join(folder, 'local')
  await writeFile(local, Buffer.alloc(100_000, 'smbclient '))
  const commands = `put ${local} by-smbclient; get by-smbclient ${local}-2; del by-smbclient`
  const args = ['//127.0.0.1/soak', '-p', String(smb), '-U', `${ACCOUNT}%${ACCOUNT_KEY}`, '-c', commands]
  return new Promise((resolve, reject) => {
    execFile(SMBCLIENT, args, (error, stdout) => {
      if (error === null) resolve(1)
      else reject(new Error(`smbclient: ${error.message} ${stdout}`))
    })
  })
} // prettier-ignore

async function end(child: ChildProcess, traffic: Traffic, folder: string): Promise<Ending> {
  traffic.close()
  const logged = String(await ask(child, 'sweep'))
  const [diskBytes, liveBytes] = [bytesIn(folder), traffic.liveBytes()]
  const ended = once(child, 'exit')
  child.send('close' satisfies Ask)
  await ended
  const fsck = await run({ program: [process.execPath, MAIN], args: ['fsck', '--location', folder] })
  const errors = [...traffic.errors, ...(logged === '' ? [] : [`the server has logged: ${logged}`])]
  const found = fsck.code === 0 ? [] : [`${fsck.stdout}${fsck.stderr}`]
  return { liveBytes, diskBytes, fsckExitCode: fsck.code ?? -1, errors: [...errors, ...found] }
} // prettier-ignore

/** What the files take on the disk, which for one with holes is less than its length. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0)
}
