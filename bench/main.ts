// The benchmark: Lazuli, Azurite and a bare node:http server under the same load on this machine. Only ratios within one
// run are meaningful; the goals in the tables are such ratios.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { diskLine, measureDisk } from './disk.ts'
import { measureMessages } from './million-messages.ts'
import { measureMillion } from './million.ts'
import { measureNodes } from './nodes.ts'
import { profileRow } from './profile.ts'
import { loadTable, pairTable } from './report.ts'
import { measureRounds } from './rounds.ts'
import { ROWS } from './rows.ts'
import { measureSmb } from './smb.ts'
import { measureStartUp, type StartUp, startUpTable } from './start-up.ts'
import { beforeTarget, killAll, type Running, start, TARGETS } from './target.ts'
import { requireWrk } from './wrk.ts'

const USAGE = `npm run bench -- [smb | nodes] [options]

  smb                  compare file shares over SMB with Samba's smbd, using smbclient
  nodes                compare one, two and three nodes on PostgreSQL with LMDB and Azurite

  --quick              short rounds, for a rough result
  --only get-4k,list   run only these rows (${ROWS.map((row) => row.name).join(', ')})
  --against DIR        compare this checkout with the one in DIR
  --targets lazuli     run only these servers (${TARGETS.map((target) => target.name).join(', ')})
  --profile            run Lazuli with --cpu-prof and list the hottest functions of each row
  --million            measure Lazuli with a million blobs: Put Blob, memory, start, lists
  nodes --million      measure a queue on PostgreSQL that sees a million messages
  --count 100000       number of blobs or messages for --million
`

type Options = ReturnType<typeof readOptions>

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      against: { type: 'string' },
      targets: { type: 'string' },
      profile: { type: 'boolean', default: false },
      million: { type: 'boolean', default: false },
      count: { type: 'string', default: '1000000' },
      help: { type: 'boolean', default: false },
    },
  })
  return {
    ...values,
    smb: positionals.includes('smb'),
    nodes: positionals.includes('nodes'),
    rows: choose(ROWS, values.only),
    targets:
      values.against === undefined
        ? choose(TARGETS, values.targets)
        : [lazuli(), beforeTarget(resolve(values.against))],
    blobCount: Number(values.count),
    // Many short rounds: the speed of a machine changes within seconds, and should affect all servers alike.
    roundCount: values.quick ? 2 : 9,
    durationS: values.quick ? 1 : 2,
    startCount: values.quick ? 1 : 3,
  }
}

function choose<T extends { readonly name: string }>(all: readonly T[], names: string | undefined) {
  const wanted = names?.split(',')
  const unknown = wanted?.find((name) => all.every((one) => one.name !== name))
  if (unknown !== undefined) throw new Error(`Unknown name '${unknown}'.\n${USAGE}`)
  return wanted === undefined ? all : all.filter((one) => wanted.includes(one.name))
}

function lazuli() {
  const target = TARGETS.find((target) => target.name === 'lazuli')
  if (target === undefined) throw new Error('Lazuli is not among the targets')
  return target
}

async function profile({ rows, quick }: Options, folder: string): Promise<void> {
  for (const row of rows) console.log(await profileRow(row, lazuli(), folder, quick ? 2 : 6))
}

async function compare(options: Options, folder: string): Promise<boolean> {
  const startUps: StartUp[] = []
  for (const target of options.targets)
    startUps.push(await measureStartUp(target, folder, options.startCount))
  const servers: Running[] = []
  for (const target of options.targets)
    servers.push(await start(target, { location: join(folder, target.name) }))
  const results = await measureRounds({ ...options, servers, folder })
  await Promise.all(servers.map((server) => server.stop()))
  const table = options.against === undefined ? loadTable(results) : pairTable(results)
  console.log(`${table}\n\n${startUpTable(startUps)}`)
  return results.every(({ rates }) => [...rates.values()].every((rate) => !rate.failure))
}

async function main(): Promise<void> {
  const options = readOptions()
  if (options.help) return console.log(USAGE)
  const wrk = requireWrk()
  const cores = cpus()
  // Not the system's temporary folder, which may be in memory, where a sync costs nothing.
  await mkdir('.lazuli', { recursive: true })
  const folder = await mkdtemp('.lazuli/bench-')
  process.on('SIGINT', () => process.exit(130))
  process.on('SIGTERM', () => process.exit(143))
  process.on('exit', killAll)
  console.log(`${cores.length} × ${cores[0]?.model}, Node ${process.version}, ${wrk}`)
  const disk = measureDisk(folder)
  console.log(`${diskLine(disk)}\n`)
  try {
    if (options.smb) console.log(await measureSmb(folder, options.quick))
    else if (options.nodes && options.million)
      console.log(await measureMessages({ folder, messageCount: options.blobCount }))
    else if (options.nodes) console.log(await measureNodes({ ...options, folder, disk }))
    else if (options.profile) await profile(options, folder)
    else if (options.million)
      console.log(await measureMillion({ ...options, target: lazuli(), folder }))
    else if (!(await compare(options, folder))) process.exitCode = 1
  } finally {
    killAll()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

await main()
