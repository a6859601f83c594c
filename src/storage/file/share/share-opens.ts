// What SMB clients hold open in a share that goes, or in a snapshot of it: all of it is closed, as by force.
import type { Key, KeyRange, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { cacheKey, cachesRange, deletePendingRange, locksRange, opensRange } from '../keys.ts'
import type { FileOpen, FileTx } from '../open/open.ts'

const COUNT = 1_000

/** Those of one snapshot, or every one. */
export function* closeOpens(tx: FileTx, shareId: number, snapshot?: number): Step<void> {
  for (const { key, value } of yield* scanAll(tx, opensRange(shareId), COUNT)) {
    const open = decodeRecord<FileOpen>(value)
    if (snapshot !== undefined && open.snapshot !== snapshot) continue
    tx.delete(key)
    tx.announce({ kind: 'close', open })
    yield* deleteAll(tx, locksRange(shareId, open.nodeId, open.openId))
    if (snapshot === undefined) yield* deleteAll(tx, cachesRange(shareId, open.nodeId))
    else if (open.holder !== undefined) tx.delete(cacheKey(shareId, open.nodeId, open.holder))
  }
  if (snapshot === undefined) yield* deleteAll(tx, deletePendingRange(shareId))
}

function* deleteAll(tx: FileTx, range: KeyRange): Step<void> {
  const keys: readonly Key[] = (yield* scanAll(tx, range, COUNT)).map(({ key }) => key)
  for (const key of keys) tx.delete(key)
}
