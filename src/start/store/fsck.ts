// `lazuli fsck`: checks every record against every extent and prints the problems. It owns the store meanwhile, since
// the writes of a running server would look like damage.
import { checkStore, type Problem, type StoreCheck } from '../../extent/sweep/fsck.ts'
import type { SweptExtentStore } from '../../extent/extent.ts'
import type { Kv } from '../../kv/kv.ts'
import { findMapOwners } from '../../storage/file/bytes/map-owner.ts'
import { checkLocationExists } from './location.ts'
import { openStore } from './store.ts'

export type Fsck = { readonly exitCode: 0 | 1; readonly lines: readonly string[] }

export async function checkLocation(location: string, pid: number): Promise<Fsck> {
  await checkLocationExists(location)
  const store = await openStore({ folder: location, pid }, Date.now)
  try {
    return await checkOpen(store.kv, store.extents)
  } finally {
    await store.close()
  }
}

export async function checkOpen(kv: Kv, extents: SweptExtentStore): Promise<Fsck> {
  const check = await checkStore(kv, extents)
  return {
    exitCode: check.problemCount === 0 ? 0 : 1,
    lines: fsckLines(await namedCheck(kv, check)),
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
  const { recordCount, extentCount, checkedBytes, problemCount, problems } = check
  const more = problemCount - problems.length
  return [
    `${recordCount} records, ${extentCount} extents, ${checkedBytes} bytes of content checked`,
    ...problems.map(({ kind, key, detail }) => `${kind} ${key}: ${detail}`),
    ...(more > 0 ? [`… and ${more} more`] : []),
    problemCount === 0 ? 'no problems' : `${problemCount} problems`,
  ]
}
