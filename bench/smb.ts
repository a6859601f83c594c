// `npm run bench -- smb`: compares Lazuli's file shares with Samba's smbd on the same machine and disk, using smbclient in
// turns. smbd runs with its own configuration in a temporary folder, on loopback only. It does not sync its writes;
// Lazuli syncs every write before it answers.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { median, number, table } from './report.ts'
import { ACCOUNT, ACCOUNT_KEY, accountSas } from './sas.ts'
import { start, TARGETS } from './target.ts'

const SHARE = 'bench'
const SMALL_COUNT = 2_000
const LIST_COUNT = 10_000

type SmbServer = {
  readonly title: string
  readonly port: number
  readonly user: string
  readonly password: string
  stop(): Promise<void>
}

type Work = {
  readonly name: string
  readonly unit: string
  /** How much one run does, in `unit`. */
  readonly amount: (sizeMib: number) => number
  /** smbclient's commands; `prepare` and `tidy` are not timed. */
  readonly run: string
  readonly prepare?: string
  readonly tidy?: string
}

// prettier-ignore
const BIG: readonly Work[] = [
  { name: 'put', unit: 'MiB', amount: (sizeMib) => sizeMib, run: 'put big big' },
  { name: 'get', unit: 'MiB', amount: (sizeMib) => sizeMib, run: 'get big got' },
]
// prettier-ignore
const SMALL: readonly Work[] = [
  { name: `create ${SMALL_COUNT} of 4 KiB`, unit: 'files', amount: () => SMALL_COUNT, prepare: 'mkdir small',
    run: 'prompt; lcd small; cd small; mput *' },
  { name: `read ${SMALL_COUNT}`, unit: 'files', amount: () => SMALL_COUNT, run: 'prompt; lcd got-small; cd small; mget *' },
  { name: `delete ${SMALL_COUNT}`, unit: 'files', amount: () => SMALL_COUNT, run: 'cd small; rm *', tidy: 'rmdir small' },
  { name: `list ${LIST_COUNT}`, unit: 'entries', amount: () => LIST_COUNT, run: 'ls many\\*' },
]

/** Protection of messages, and smbclient's arguments for it. */
const MODES: readonly (readonly [name: string, ...args: string[]])[] = [
  ['plain', '--client-protection=off'],
  ['signed (AES-GMAC)', '--client-protection=sign', '--option=clientsmb3signingalgorithms=aes-128-gmac'],
  ['sealed (AES-128-GCM)', '--client-protection=encrypt', '--option=clientsmb3encryptionalgorithms=aes-128-gcm'],
] // prettier-ignore

const BIG_GOAL = 0.7
const SMALL_GOAL = 1

export async function measureSmb(folder: string, quick: boolean): Promise<string> {
  const sizeMib = quick ? 256 : 1_024
  const roundCount = quick ? 1 : 3
  const files = join(resolve(folder), 'files')
  makeFiles(files, sizeMib)
  const servers = [await startLazuli(folder), await startSmbd(join(resolve(folder), 'smbd'))]
  try {
    const rows: string[][] = []
    for (const server of servers) prepareList(server, files)
    for (const [mode, ...args] of MODES) {
      const works = mode === 'plain' ? [...BIG, ...SMALL] : BIG
      const rates = measure(servers, works, { files, args, sizeMib, roundCount })
      rows.push(...works.map((work) => rowOf(work, mode, rates)))
    }
    return table(['work', 'Lazuli', 'smbd', '÷ smbd (goal)'], rows)
  } finally {
    for (const server of servers) await server.stop()
  }
}

type Settings = {
  readonly files: string
  readonly args: readonly string[]
  readonly sizeMib: number
  readonly roundCount: number
}

type Rates = Map<string, number[]>

function measure(servers: readonly SmbServer[], works: readonly Work[], settings: Settings): Rates {
  const rates: Rates = new Map()
  for (let round = 0; round < settings.roundCount; round += 1) {
    for (const server of servers) {
      for (const work of works) {
        if (work.prepare !== undefined) smbclient(server, settings, work.prepare)
        const startedMs = performance.now()
        smbclient(server, settings, work.run)
        const seconds = (performance.now() - startedMs) / 1_000
        if (work.tidy !== undefined) smbclient(server, settings, work.tidy)
        const key = `${server.title} ${work.name}`
        const rate = work.amount(settings.sizeMib) / seconds
        rates.set(key, [...(rates.get(key) ?? []), rate])
      }
    }
  }
  return rates
}

function rowOf({ name, unit, run }: Work, mode: string, rates: Rates): string[] {
  const [ours, theirs] = ['Lazuli', 'smbd'].map((title) =>
    median(rates.get(`${title} ${name}`) ?? []),
  )
  const ratio = (ours ?? Number.NaN) / (theirs ?? Number.NaN)
  const goal = BIG.some((work) => work.run === run) ? BIG_GOAL : SMALL_GOAL
  const verdict = `${number(ratio)} (${goal}) ${ratio >= goal ? '✓' : '✗'}`
  const rate = (value: number | undefined) => `${number(value ?? Number.NaN)} ${unit}/s`
  return [`${name}, ${mode}`, rate(ours), rate(theirs), verdict]
}

function makeFiles(files: string, sizeMib: number): void {
  for (const name of ['small', 'got-small', 'many'])
    mkdirSync(join(files, name), { recursive: true })
  const big = Buffer.alloc(sizeMib * 2 ** 20)
  randomFillSync(big)
  writeFileSync(join(files, 'big'), big)
  for (let at = 0; at < SMALL_COUNT; at += 1) {
    writeFileSync(join(files, 'small', `s${at}`), big.subarray(0, 4_096))
  }
  for (let at = 0; at < LIST_COUNT; at += 1) {
    writeFileSync(join(files, 'many', `file-${String(at).padStart(6, '0')}.dat`), '')
  }
}

function prepareList(server: SmbServer, files: string): void {
  smbclient(server, { files, args: [] }, 'mkdir many; prompt; lcd many; cd many; mput *')
}

function smbclient(
  { port, user, password }: SmbServer,
  { files, args }: Pick<Settings, 'files' | 'args'>,
  commands: string,
): void {
  const { status, stdout } = spawnSync(
    'smbclient',
    [
      `//127.0.0.1/${SHARE}`,
      `--port=${port}`,
      `--user=${user}%${password}`,
      '--max-protocol=SMB3_11',
      ...args,
      `--command=lcd ${files}; ${commands}`,
    ],
    { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 },
  )
  const failure = /NT_STATUS_\w+.*/.exec(stdout)?.[0]
  if (status !== 0 || failure !== undefined) throw new Error(`smbclient: ${failure ?? stdout}`)
}

async function startLazuli(folder: string): Promise<SmbServer> {
  const target = TARGETS.find(({ name }) => name === 'lazuli')
  if (target === undefined) throw new Error('Lazuli is not among the targets')
  const port = await freePort()
  const args = (location: string) => [...target.args(location, ''), '--smbPort', String(port)]
  const running = await start({ ...target, args }, { location: join(folder, 'lazuli') })
  const url = `${running.endpoint('file')}/${SHARE}?restype=share&${accountSas()}`
  const answer = await fetch(url, { method: 'PUT', headers: { 'x-ms-version': '2025-11-05' } })
  if (!answer.ok)
    throw new Error(`cannot create the share: ${answer.status} ${await answer.text()}`)
  const { stop } = running
  return { title: 'Lazuli', port, user: ACCOUNT, password: ACCOUNT_KEY, stop: () => stop() }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const SMBD_PASSWORD = 'bench-only'

async function startSmbd(folder: string): Promise<SmbServer> {
  const port = await freePort()
  const parts = ['private', 'lock', 'state', 'cache', 'pid', 'ncalrpc', 'log', 'share']
  for (const part of parts) mkdirSync(join(folder, part), { recursive: true })
  const config = join(folder, 'smb.conf')
  writeFileSync(config, smbdConfig(folder, port))
  const user = execFileSync('id', ['-un'], { encoding: 'utf8' }).trim()
  const password = `${SMBD_PASSWORD}\n${SMBD_PASSWORD}\n`
  execFileSync('smbpasswd', ['-c', config, '-a', '-s', user], { input: password, stdio: 'pipe' })
  const child = spawn('smbd', ['-s', config, '-F', '-l', join(folder, 'log')], { stdio: 'ignore' })
  await listening(child, port)
  return { title: 'smbd', port, user, password: SMBD_PASSWORD, stop: () => stopSmbd(child, folder) }
}

function smbdConfig(folder: string, port: number): string {
  const settings = {
    'netbios name': 'BENCH',
    'server role': 'standalone server',
    'bind interfaces only': 'yes',
    interfaces: '127.0.0.1/8',
    'smb ports': port,
    'disable netbios': 'yes',
    'private dir': join(folder, 'private'),
    'lock directory': join(folder, 'lock'),
    'state directory': join(folder, 'state'),
    'cache directory': join(folder, 'cache'),
    'pid directory': join(folder, 'pid'),
    'ncalrpc dir': join(folder, 'ncalrpc'),
    'passdb backend': `tdbsam:${join(folder, 'private', 'passdb.tdb')}`,
    'load printers': 'no',
    'printcap name': '/dev/null',
    'disable spoolss': 'yes',
  }
  const lines = Object.entries(settings).map(([name, value]) => `  ${name} = ${value}`)
  const share = [`[${SHARE}]`, `  path = ${join(folder, 'share')}`, '  read only = no']
  return ['[global]', ...lines, ...share, ''].join('\n')
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (child.exitCode !== null) throw new Error('smbd has ended')
    const hex = port.toString(16).toUpperCase().padStart(4, '0')
    if (readFileSync('/proc/net/tcp', 'utf8').includes(`0100007F:${hex} 00000000:0000 0A`)) return
    await new Promise((then) => setTimeout(then, 100))
  }
  throw new Error('smbd does not listen')
}

async function stopSmbd(child: ChildProcess, folder: string): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
  for (const name of readdirSync(folder))
    rmSync(join(folder, name), { recursive: true, force: true })
}
