// `lazuli fsck`: checks every record against every extent and prints the problems. It owns the store meanwhile, since
// the writes of a running server would look like damage. With --repair, it corrects what follows from other records, and then
// checks everything again; what is lost is reported and stays as it is.
import {
  checkStore,
  type CheckOptions,
  type Problem,
  type StoreCheck,
} from '../../extent/sweep/fsck.ts'
import { checkGarbage } from '../../extent/sweep/garbage.ts'
import type { Check } from '../../extent/sweep/problem.ts'
import type { SweptExtentStore } from '../../extent/extent.ts'
import type { Kv } from '../../kv/kv.ts'
import { getHighestFloor, STAMPS_PER_MS } from '../../node/moment.ts'
import { checkIndexes } from '../../storage/check/check-indexes.ts'
import { findMapOwners } from '../../storage/file/bytes/map-owner.ts'
import type { Progress } from '../copy/progress.ts'
import { countRecords } from '../copy/records.ts'
import { checkLocationExists } from './location.ts'
import { openStore } from './store.ts'

export type Fsck = { readonly exitCode: 0 | 1; readonly lines: readonly string[] }

export type FsckRun = {
  readonly progress?: Progress
  readonly asJson?: boolean
  readonly repairs?: boolean
}

export async function checkLocation(
  location: string,
  pid: number,
  run: FsckRun = {},
): Promise<Fsck> {
  await checkLocationExists(location)
  const store = await openStore({ folder: location, pid }, Date.now)
  try {
    const { kv, extents } = store
    const floorMs = (await kv.read(getHighestFloor)) / STAMPS_PER_MS
    // The clock of a test may be ahead of the machine's.
    const also = [checkGarbage, checkIndexes(Math.max(Date.now(), floorMs))]
    const repaired = run.repairs === true ? await repair(kv, extents, also, run) : []
    const { exitCode, lines } = await checkOpen(kv, extents, run, also)
    return { exitCode, lines: [...repaired, ...lines] }
  } finally {
    await store.close()
  }
}

/** Returns a line for each repair. */
async function repair(
  kv: Kv,
  extents: SweptExtentStore,
  also: readonly Check[],
  run: FsckRun,
): Promise<readonly string[]> {
  const lines: string[] = []
  const repaired = ({ kind, key, detail }: Problem, how: string): void => {
    const text = `repaired ${kind} ${key}: ${detail}; ${how}`
    lines.push(
      run.asJson === true ? JSON.stringify({ repaired: { kind, key, detail, how } }) : text,
    )
  }
  const progress = await progressOf(kv, extents, run.progress)
  const { repairedCount } = await checkStore(kv, extents, { also, repaired, ...progress })
  const end = `${repairedCount} problems repaired; checking again`
  return run.asJson === true ? lines : [...lines, end]
}

export async function checkOpen(
  kv: Kv,
  extents: SweptExtentStore,
  run: FsckRun = {},
  also?: readonly Check[],
): Promise<Fsck> {
  const progress = await progressOf(kv, extents, run.progress)
  const check = await checkStore(kv, extents, { ...(also !== undefined && { also }), ...progress })
  const named = await namedCheck(kv, check)
  return {
    exitCode: check.problemCount === 0 ? 0 : 1,
    lines: run.asJson === true ? jsonLines(named) : fsckLines(named),
  }
}

async function progressOf(
  kv: Kv,
  extents: SweptExtentStore,
  progress: Progress | undefined,
): Promise<Pick<CheckOptions, 'progress'>> {
  if (progress === undefined) return {}
  const totals = { records: await countRecords(kv), content: extents.sizeBytes() }
  return {
    progress: (what, done) => progress.show(what, done, Math.max(done, totals[what])),
  }
}

/** The check with names that mean something to people. */
export async function namedCheck(kv: Kv, check: StoreCheck): Promise<StoreCheck> {
  return { ...check, problems: await nameFiles(kv, check.problems) }
}

/** Adds the file's path to problems with map records, whose keys mean nothing to people. */
async function nameFiles(kv: Kv, problems: readonly Problem[]): Promise<Problem[]> {
  const ids = problems.map(({ key }) => mapIdOf(key))
  const owners = await findMapOwners(kv, new Set(ids.filter((id) => id !== undefined)))
  return problems.map((problem, at) => {
    const owner = owners.get(ids[at] ?? 0)
    if (owner === undefined) return problem
    return { ...problem, detail: `${problem.detail} of the file ${owner}` }
  })
}

function mapIdOf(key: string): number | undefined {
  const [, id] = /^\["map",(\d+),\d+\]$/.exec(key) ?? []
  return id === undefined ? undefined : Number(id)
}

export function fsckLines(check: StoreCheck): readonly string[] {
  const { recordCount, extentCount, checkedBytes, problemCount, problems, isPartial } = check
  const more = problemCount - problems.length
  return [
    `${recordCount} records, ${extentCount} extents, ${checkedBytes} bytes of content checked`,
    ...problems.map(({ kind, key, detail }) => `${kind} ${key}: ${detail}`),
    ...(more > 0 ? [`… and ${more} more`] : []),
    ...(isPartial
      ? ['indexes and totals were not checked, because some records are unreadable']
      : []),
    problemCount === 0 ? 'no problems' : `${problemCount} problems`,
  ]
}

function jsonLines({ problems, ...summary }: StoreCheck): readonly string[] {
  const lines = problems.map(({ kind, key, detail }) => ({ problem: { kind, key, detail } }))
  return [...lines, { summary }].map((each) => JSON.stringify(each))
}
