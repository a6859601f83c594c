// Profiles Lazuli: runs each row with --cpu-prof and lists the functions with the most self time. The .cpuprofile files
// stay in the working folder, for DevTools or speedscope.
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { number, table } from './report.ts'
import { CONNECTION_COUNT, failureOf } from './rounds.ts'
import type { Row } from './row.ts'
import { start, type Target } from './target.ts'
import { drive } from './wrk.ts'

/** The relevant part of V8's format: sample i is a node's id and lasts until sample i + 1. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      readonly lineNumber: number
    }
  }[]
  /** Microseconds of the machine's monotonic clock, as in process.hrtime. */
  readonly startTime: number
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The time of the load, without start, preparation and stop. */
export type Span = { readonly fromUs: number; readonly toUs: number }

export type Hot = { readonly function: string; readonly selfMs: number; readonly share: number }

const HEAVIEST_COUNT = 25

/** The functions with the most self time, as shares of the busy time. */
export function heaviest(profiles: readonly CpuProfile[], span: Span, countMax: number) {
  const selfUs = new Map<string, number>()
  for (const { nodes, samples, startTime, timeDeltas } of profiles) {
    const names = new Map(nodes.map((node) => [node.id, frameName(node.callFrame)]))
    let atUs = startTime
    for (const [i, id] of samples.entries()) {
      atUs += timeDeltas[i] ?? 0
      if (atUs < span.fromUs || atUs >= span.toUs) continue
      const name = names.get(id) ?? '(unknown)'
      selfUs.set(name, (selfUs.get(name) ?? 0) + (timeDeltas[i + 1] ?? 0))
    }
  }
  selfUs.delete('(idle)')
  const busyUs = [...selfUs.values()].reduce((sum, us) => sum + us, 0)
  return [...selfUs]
    .sort(([, a], [, b]) => b - a)
    .slice(0, countMax)
    .map(([name, us]): Hot => ({ function: name, selfMs: us / 1000, share: us / busyUs }))
}

function frameName(frame: CpuProfile['nodes'][number]['callFrame']): string {
  const name = frame.functionName === '' ? '(anonymous)' : frame.functionName
  return frame.url === '' ? name : `${name} ${place(frame.url)}:${frame.lineNumber + 1}`
}

function place(url: string): string {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url
  const root = join(import.meta.dirname, '..')
  return path.startsWith(root) ? path.slice(root.length + 1) : path
}

/** Runs one row on a fresh server and formats its profile as a table. */
export async function profileRow(row: Row, target: Target, folder: string, durationS: number) {
  const profileFolder = join(folder, `profile-${row.name}`)
  await mkdir(profileFolder)
  const location = join(folder, `${target.name}-${row.name}`)
  const nodeArgs = ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  const server = await start(target, { location, nodeArgs })
  await row.prepare(server, folder)
  const fromUs = monotonicUs()
  const outcome = await drive({
    request: row.request(server),
    numberCount: row.numberCount,
    firstNumber: 0,
    connectionCount: row.connectionCount ?? CONNECTION_COUNT,
    durationS,
    folder,
  })
  const span = { fromUs, toUs: monotonicUs() }
  await server.stop()
  const failure = failureOf(row, outcome)
  if (failure !== undefined) throw new Error(`${row.name}: ${failure}`)
  const perSecond = number((outcome.requests * 1e6) / outcome.durationUs)
  const profiles = await readProfiles(profileFolder, row.name)
  const hot = heaviest(profiles, span, HEAVIEST_COUNT)
  return `## ${row.work}: ${perSecond}/s while profiled\n\n${hotTable(hot)}\n`
}

function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Each worker thread writes a profile of its own; all of them count. */
async function readProfiles(folder: string, rowName: string): Promise<readonly CpuProfile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'))
  if (files.length === 0) throw new Error('no profile was written; did the server crash?')
  const profiles: CpuProfile[] = []
  for (const [i, file] of files.entries()) {
    const saved = `${rowName}${i === 0 ? '' : `-${i}`}.cpuprofile`
    await copyFile(join(folder, file), saved)
    console.error(`saved ${basename(saved)}`)
    profiles.push(JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile)
  }
  return profiles
}

function hotTable(hot: readonly Hot[]): string {
  const rows = hot.map(({ function: name, selfMs, share }) => [
    `${(share * 100).toFixed(1)} %`,
    number(selfMs),
    name,
  ])
  return table(['self', 'ms', 'function'], rows)
}
