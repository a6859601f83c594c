// The records of a store that belong to its data, in order of their keys. Others belong to the place where it is and to the
// servers that use it: a copy has its own.
import { scanPages } from '../../extent/scan.ts'
import { KEY_END, keyAfter, type Entry, type Key, type Kv } from '../../kv/kv.ts'

/** The first parts of keys that are not copied. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  // A copy gets it last: until then no server opens it.
  'format',
  'owner',
  'node',
  'role',
  'role-term',
  'cluster-secret',
  'bytes-kind',
  'extent-folder',
  'store-id',
  // A copy gets the highest of them.
  'moment-floor',
])

/** Few, because a record may have a MiB. */
const PAGE_COUNT = 128

/** All records that a copy has, too: those after `key`, if there is one. */
export async function* dataRecords(kv: Kv, key?: Key): AsyncGenerator<Entry> {
  const from = key === undefined ? new Uint8Array(0) : keyAfter(key)
  for await (const page of scanPages(kv, { from, to: KEY_END }, PAGE_COUNT)) {
    for (const entry of page) if (!OWN_KINDS.has(recordKindOf(entry.key))) yield entry
  }
}

/** The first part of a key, which is a name: a byte, the name, a zero (kv/key.ts). */
export function recordKindOf(key: Key): string {
  const end = key.indexOf(0)
  return Buffer.from(key.subarray(1, end < 0 ? key.length : end)).toString('latin1')
}

const KEYS_AT_ONCE = 4_096

/** How many there are: an upper bound, for progress. */
export async function countRecords(kv: Kv): Promise<number> {
  let count = 0
  for (let from: Key = new Uint8Array(0); ;) {
    const range = { from, to: KEY_END, countMax: KEYS_AT_ONCE }
    const keys = await kv.read((tx) => tx.scanKeys(range))
    count += keys.length
    const last = keys.at(-1)
    if (last === undefined || keys.length < KEYS_AT_ONCE) return count
    from = keyAfter(last)
  }
}

/** The key of the first record that differs; undefined if both have the same. */
export async function firstDifference(
  a: Kv,
  b: Kv,
  onRecord: () => void,
): Promise<Key | undefined> {
  const [left, right] = [dataRecords(a), dataRecords(b)]
  try {
    for (;;) {
      const [x, y] = await Promise.all([left.next(), right.next()])
      if (x.done === true || y.done === true) return (x.value ?? y.value)?.key
      if (!isSame(x.value, y.value)) return x.value.key
      onRecord()
    }
  } finally {
    await Promise.all([left.return(undefined), right.return(undefined)])
  }
}

function isSame(a: Entry, b: Entry): boolean {
  return Buffer.compare(a.key, b.key) === 0 && Buffer.compare(a.value.value, b.value.value) === 0
}
