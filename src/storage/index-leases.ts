// Migration from format 4 to 5: the index of leases (shared/leased.ts). An older Lazuli would not keep it up.
import { encodeKey } from '../kv/key.ts'
import { keyAfter, prefixRange, type Key, type Kv, type Step, type Tx } from '../kv/kv.ts'
import { decodeRecord } from '../kv/record.ts'
import { INDEXED_BLOB_KINDS } from './blob/held/lease.ts'
import type { Lease } from './shared/lease.ts'
import { indexLease } from './shared/leased.ts'

const RECORDS_PER_STEP = 500

export const LEASED_KINDS: ReadonlyMap<string, (object: Key) => Key> = new Map([
  ...INDEXED_BLOB_KINDS,
  ...['share', 'share-snapshot', 'file-node'].map(
    (kind) => [kind, (object: Key) => object] as const,
  ),
])

/** Leases that have ended are indexed, too; the sweep removes them. */
export async function indexLeases(kv: Kv): Promise<void> {
  for (const [kind, indexedKey] of LEASED_KINDS) {
    const { from, to } = prefixRange(encodeKey(kind))
    let next: Key | undefined = from
    while (next !== undefined) {
      const rest: { readonly from: Key; readonly to: Key } = { from: next, to }
      next = await kv.write((tx) => indexSome(tx, rest, indexedKey))
    }
  }
}

/** Returns the key to continue from; undefined at the end. */
function* indexSome(
  tx: Tx,
  range: { readonly from: Key; readonly to: Key },
  indexedKey: (object: Key) => Key,
): Step<Key | undefined> {
  const entries = yield* tx.scanFields({ ...range, countMax: RECORDS_PER_STEP })
  for (const { key, value } of entries) {
    const { lease } = decodeRecord<{ readonly lease?: Lease }>(value)
    if (lease !== undefined) indexLease(tx, indexedKey(key), lease)
  }
  const last = entries.at(-1)
  return last === undefined ? undefined : keyAfter(last.key)
}
