// `lazuli fsck`: checks every record against every extent, and says what it found. The store is taken for
// as long as that lasts: what a running server writes meanwhile would look like damage.
import { checkStore, type StoreCheck } from '../extent/fsck.ts'
import { checkLocationExists } from './location.ts'
import { openStore } from './store.ts'

export type Fsck = { readonly exitCode: 0 | 1; readonly lines: readonly string[] }

export async function checkLocation(location: string, pid: number): Promise<Fsck> {
  await checkLocationExists(location)
  const store = await openStore({ folder: location, pid }, Date.now)
  try {
    const check = await checkStore(store.kv, store.extents)
    return { exitCode: check.problemCount === 0 ? 0 : 1, lines: fsckLines(check) }
  } finally {
    await store.close()
  }
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
