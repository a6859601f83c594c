// Looks into the store of a server: did a request change anything, and did deletes leave anything behind?
import { hash } from 'node:crypto'
import { checkStore } from '../src/extent/sweep/fsck.ts'
import { decodeKey } from '../src/kv/key.ts'
import { KEY_END } from '../src/kv/kv.ts'
import type { Store } from '../src/start/store/store.ts'

const EVERYTHING = { from: new Uint8Array(0), to: KEY_END, countMax: 10_000_000 }

/** Counters, and unreferenced bytes that the sweep removes. */
const NOT_STATE = new Set([
  'next-id', 'moment-floor', 'extent', 'extent-next', 'extent-due', 'extent-dirty', 'small-slice', 'small-dropped',
]) // prettier-ignore

/** All relevant records, by key. */
export async function stateOf({ kv }: Store): Promise<Map<string, string>> {
  const entries = await kv.read((tx) => tx.scan(EVERYTHING))
  const state = new Map<string, string>()
  for (const { key, value } of entries) {
    const parts = decodeKey(key)
    if (NOT_STATE.has(String(parts[0]))) continue
    state.set(JSON.stringify(parts), hash('sha1', value.value))
  }
  return state
}

/** The keys of the records that differ. */
export function changesOf(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter((key) => before.get(key) !== after.get(key))
}

/** The keys of all records of these kinds, up to a limit. */
export async function keysOf({ kv }: Store, kinds: readonly string[]): Promise<string[]> {
  const keys = (await kv.read((tx) => tx.scanKeys(EVERYTHING))).map(decodeKey)
  return keys.filter(([kind]) => kinds.includes(String(kind))).map((key) => JSON.stringify(key))
}

/** The problems that a full check of the store finds. */
export async function problemsOf({ kv, extents }: Store): Promise<string[]> {
  const { problems } = await checkStore(kv, extents)
  return problems.map(({ kind, key, detail }) => `${kind} ${key} ${detail}`)
}
