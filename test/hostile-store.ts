// Looks into the store below a server: whether a request has changed anything, and whether deletes have left
// anything behind.
import { hash } from 'node:crypto'
import { checkStore } from '../src/extent/sweep/fsck.ts'
import { decodeKey } from '../src/kv/key.ts'
import { KEY_END } from '../src/kv/kv.ts'
import type { Store } from '../src/start/store/store.ts'

const EVERYTHING = { from: new Uint8Array(0), to: KEY_END, countMax: 10_000_000 }

/** Numbers that are given once, and bytes that no record points at: a sweep's to remove. */
const NOT_STATE = new Set([
  'next-id', 'moment-floor', 'extent', 'extent-next', 'extent-due', 'extent-dirty', 'small-slice', 'small-dropped',
]) // prettier-ignore

/** All records that mean something, by their keys. */
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

/** The keys of the records that are not the same. */
export function changesOf(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): string[] {
  const keys = new Set([...before.keys(), ...after.keys()])
  return [...keys].filter((key) => before.get(key) !== after.get(key))
}

/** The keys of all records of these kinds, for as long as there are not too many to read. */
export async function keysOf({ kv }: Store, kinds: readonly string[]): Promise<string[]> {
  const keys = (await kv.read((tx) => tx.scanKeys(EVERYTHING))).map(decodeKey)
  return keys.filter(([kind]) => kinds.includes(String(kind))).map((key) => JSON.stringify(key))
}

/** What a whole check of the store finds wrong. */
export async function problemsOf({ kv, extents }: Store): Promise<string[]> {
  const { problems } = await checkStore(kv, extents)
  return problems.map(({ kind, key, detail }) => `${kind} ${key} ${detail}`)
}
