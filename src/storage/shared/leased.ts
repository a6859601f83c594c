// The index of leases: finds leased objects without a walk over all objects. Each action on a lease writes it, and nothing
// else does, so it costs other operations nothing. An object that is deleted leaves its entry behind: whoever reads the
// index compares it with the object, and the sweep removes what is stale.
import { encodeKey } from '../../kv/key.ts'
import {
  keyAfter,
  prefixRange,
  type Key,
  type KeyRange,
  type Kv,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { isInfinite, isLeaseRunning, type Leasable, type Lease } from './lease.ts'

const PREFIX = encodeKey('leased')

/** Small enough that concurrent writes wait only a few milliseconds. */
const RECORDS_PER_STEP = 200

/** A lease that is active or breaking. */
export type LeasedObject = {
  readonly kind: Leasable
  /** Of the object's record. */
  readonly key: Key
  readonly account: string
  /** The names below the account. */
  readonly path: readonly string[]
  /** Of a share. */
  readonly snapshot?: number
  readonly lease: Lease
}

/** A lease that an operator can end, without its id, without conditions, and at once. */
export type ActiveLease<T extends Tx = Tx> = { end(into: T): void }

/** False if there is no active lease. */
export function* endActiveLease<T extends Tx>(
  tx: T,
  find: (tx: T) => Step<ActiveLease<T> | undefined>,
): Step<boolean> {
  const found = yield* find(tx)
  found?.end(tx)
  return found !== undefined
}

/** → Lease, as in the object's record, whose key follows; of a file, also where it was (FileHint) */
function leasedKey(object: Key): Key {
  return Buffer.concat([PREFIX, object])
}

/** The entries of one kind of records. */
export function leasedRange(kind: string): KeyRange {
  return prefixRange(encodeKey('leased', kind))
}

/** Follows every action on a lease. `hint` helps to find the object again. */
export function indexLease(tx: Tx, object: Key, lease: Lease | undefined, hint?: object): void {
  if (lease === undefined) tx.delete(leasedKey(object))
  else tx.put(leasedKey(object), encodeRecord({ ...lease, ...hint }))
}

export function* isLeaseIndexed(tx: ReadTx, object: Key): Step<boolean> {
  return (yield* tx.get(leasedKey(object))) !== undefined
}

type IndexEntry = { readonly key: Key; readonly object: Key; readonly lease: Lease }

type IndexPage = { readonly entries: readonly IndexEntry[]; readonly next: Key | undefined }

function* indexPage(tx: ReadTx, { from, to }: KeyRange, countMax: number): Step<IndexPage> {
  const found = yield* tx.scanFields({ from, to, countMax })
  const entries = found.map(({ key, value }) => {
    return { key, object: key.subarray(PREFIX.length), lease: decodeRecord<Lease>(value) }
  })
  const last = found.at(-1)
  const isEnd = last === undefined || found.length < countMax
  return { entries, next: isEnd ? undefined : keyAfter(last.key) }
}

/** Reads the object of an entry; undefined if clients don't see it. */
export type FindLeased = (
  tx: ReadTx,
  object: Key,
  entry: Lease,
) => Step<(Omit<LeasedObject, 'key' | 'lease'> & { readonly lease: Lease | undefined }) | undefined>

/** Up to `countMax` active leases. Each page is a transaction of its own, so the list is not of one moment. */
export async function listLeased(
  kv: Pick<Kv, 'read'>,
  range: KeyRange,
  find: FindLeased,
  { countMax, nowMs }: { readonly countMax: number; readonly nowMs: number },
): Promise<readonly LeasedObject[]> {
  const listed: LeasedObject[] = []
  let from: Key | undefined = range.from
  while (from !== undefined && listed.length < countMax) {
    const rest: KeyRange = { from, to: range.to }
    const page = await kv.read((tx) => leasedPage(tx, rest, find, nowMs))
    listed.push(...page.items)
    from = page.next
  }
  return listed.slice(0, countMax)
}

type LeasedPage = { readonly items: readonly LeasedObject[]; readonly next: Key | undefined }

function* leasedPage(
  tx: ReadTx,
  range: KeyRange,
  find: FindLeased,
  nowMs: number,
): Step<LeasedPage> {
  const { entries, next } = yield* indexPage(tx, range, RECORDS_PER_STEP)
  const items: LeasedObject[] = []
  for (const { object, lease: indexed } of entries) {
    if (!isLeaseRunning(indexed, nowMs)) continue
    const found = yield* find(tx, object, indexed)
    const lease = found?.lease
    if (found === undefined || lease === undefined || !isLeaseRunning(lease, nowMs)) continue
    items.push({ ...found, lease, key: object })
  }
  return { items, next }
}

/** Active leases by the index alone, from about `countMax` entries. It includes objects deleted since the last sweep. */
export async function countLeased(
  kv: Pick<Kv, 'read'>,
  { countMax, nowMs }: { readonly countMax: number; readonly nowMs: number },
): Promise<BoundedCount> {
  let count = 0
  let from: Key | undefined = PREFIX
  const { to } = prefixRange(PREFIX)
  for (let visited = 0; from !== undefined && visited < countMax; visited += COUNTED_PER_STEP) {
    const rest: KeyRange = { from, to }
    const { entries, next }: IndexPage = await kv.read((tx) =>
      indexPage(tx, rest, COUNTED_PER_STEP),
    )
    count += entries.filter(({ lease }) => isLeaseRunning(lease, nowMs)).length
    from = next
  }
  return { count, isCut: from !== undefined }
}

/** `isCut`: there may be more. */
export type BoundedCount = { readonly count: number; readonly isCut: boolean }

const COUNTED_PER_STEP = 1_000

/** Removes entries of leases that have ended, and of objects that are gone. */
export async function sweepLeased(
  kv: Kv,
  kind: string,
  leaseOf: (tx: ReadTx, object: Key) => Step<Lease | undefined>,
  nowMs: number,
): Promise<number> {
  const { from, to } = leasedRange(kind)
  let count = 0
  let next: Key | undefined = from
  while (next !== undefined) {
    const rest: KeyRange = { from: next, to }
    const step = await kv.write((tx) => sweepSome(tx, rest, leaseOf, nowMs))
    count += step.count
    next = step.next
  }
  return count
}

type SweptStep = { readonly count: number; readonly next: Key | undefined }

/** The object is read only if the lease never ends: the others end by themselves. */
function* sweepSome(
  tx: Tx,
  range: KeyRange,
  leaseOf: (tx: ReadTx, object: Key) => Step<Lease | undefined>,
  nowMs: number,
): Step<SweptStep> {
  const { entries, next } = yield* indexPage(tx, range, RECORDS_PER_STEP)
  let count = 0
  for (const { key, object, lease } of entries) {
    if (isLeaseRunning(lease, nowMs)) {
      if (!isInfinite(lease) || (yield* leaseOf(tx, object)) !== undefined) continue
    }
    tx.delete(key)
    count += 1
  }
  return { count, next }
}
