// Records of granted oplocks and leases. An oplock belongs to one open. A lease is shared by all opens with its key and
// is for one file only ([MS-SMB2] 3.3.5.9.8, 3.3.5.9.11).
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import type { FilePlace } from './cache-break.ts'
import { leaseHolderKey } from '../keys.ts'
import {
  deleteHolder,
  holdersOf,
  opensOf,
  putHolder,
  type CacheHolder,
  type FileOpen,
} from '../open/open.ts'
import { grantedState, grantLease, hasLocks, type CacheRequest } from './smb-cache.ts'

/** The file that a lease is for. */
export function* findLease(tx: ReadTx, holder: string): Step<FilePlace | undefined> {
  const value = yield* tx.get(leaseHolderKey(holder))
  return value && decodeRecord<FilePlace>(value)
}

/** A lease key in use for another file can't be used for this one. */
export function* isLeasedElsewhere(
  tx: ReadTx,
  cache: CacheRequest | undefined,
  place: FilePlace | undefined,
): Step<boolean> {
  if (cache?.kind !== 'lease') return false
  const leased = yield* findLease(tx, cache.holder)
  if (leased === undefined) return false
  return leased.shareId !== place?.shareId || leased.nodeId !== place.nodeId
}

/** Called before the open is stored; the result becomes its `holder`. Directories and snapshots are not cached. */
export function* grantCache(
  tx: Tx,
  open: Pick<FileOpen, 'shareId' | 'nodeId' | 'isDirectory' | 'snapshot'>,
  cache: CacheRequest | undefined,
): Step<CacheHolder | undefined> {
  if (cache === undefined || open.isDirectory || open.snapshot !== undefined) return undefined
  const { shareId, nodeId } = open
  const holders = yield* holdersOf(tx, shareId, nodeId)
  const granted = grantedState(cache, {
    opens: yield* opensOf(tx, shareId, nodeId),
    holders,
    hasLocks: yield* hasLocks(tx, open),
  })
  if (cache.kind === 'oplock') {
    if (granted === 0) return undefined
    const oplock: CacheHolder = { ...cache, state: granted }
    putHolder(tx, open, oplock)
    return oplock
  }
  const current = holders.find((each) => each.holder === cache.holder)
  const lease = grantLease(current, cache, granted)
  putHolder(tx, open, lease)
  tx.put(leaseHolderKey(cache.holder), encodeRecord({ shareId, nodeId }))
  return lease
}

/** Called when the last open of the holder is closed. */
export function removeHolder(tx: Tx, at: FilePlace, holder: string): void {
  deleteHolder(tx, at, holder)
  tx.delete(leaseHolderKey(holder))
}
