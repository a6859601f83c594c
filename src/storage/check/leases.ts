// Every lease that runs is in the index of leases (shared/leased.ts). Entries without a lease are normal: a sweep removes them.
import { encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { problem, repairBy, type Problem, type Report } from '../../extent/sweep/problem.ts'
import { scanSteps } from '../../extent/scan.ts'
import { LEASED_KINDS } from '../index-leases.ts'
import { isLeaseRunning, type Lease } from '../shared/lease.ts'
import { indexLease, isLeaseIndexed } from '../shared/leased.ts'

type Leased = { readonly lease?: Lease }

export async function checkLeases(kv: Kv, report: Report, nowMs: number): Promise<void> {
  for (const [kind, indexedKey] of LEASED_KINDS) {
    for await (const { key, value } of scanSteps(kv, prefixRange(encodeKey(kind)))) {
      if (decodeRecord<Leased>(value).lease === undefined) continue
      const found = await kv.read((tx) => lookAt(tx, key, indexedKey(key), nowMs))
      if (found !== undefined) await report(found)
    }
  }
}

function* lookAt(tx: ReadTx, key: Key, indexed: Key, nowMs: number): Step<Problem | undefined> {
  const lease = (yield* tx.getFields<Leased>(key))?.lease
  if (lease === undefined || !isLeaseRunning(lease, nowMs)) return undefined
  if (yield* isLeaseIndexed(tx, indexed)) return undefined
  const repair = repairBy('added it', (into) => add(into, indexed, lease))
  return { ...problem('indexEntryMissing', key, 'its lease is not in the index'), repair }
}

function* add(tx: Tx, indexed: Key, lease: Lease): Step<void> {
  indexLease(tx, indexed, lease)
}
