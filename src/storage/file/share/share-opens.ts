// Force-closes all SMB opens in a share that is deleted, or in a deleted snapshot of it.
import type { Key, KeyRange, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { removeHolder } from '../cache/cache-grant.ts'
import { deletePendingRange, locksRange, opensRange } from '../keys.ts'
import type { FileOpen, FileTx } from '../open/open.ts'
import { deletePersistentOpen } from '../open/persistent-open.ts'

const COUNT = 1_000

/** The opens of one snapshot, or all opens of the share. */
export function* closeOpens(tx: FileTx, shareId: number, snapshot?: number): Step<void> {
  for (const { key, value } of yield* scanAll(tx, opensRange(shareId), COUNT)) {
    const open = decodeRecord<FileOpen>(value)
    if (snapshot !== undefined && open.snapshot !== snapshot) continue
    tx.delete(key)
    if (open.persistent !== undefined) deletePersistentOpen(tx, open)
    if (open.holder !== undefined) removeHolder(tx, open, open.holder)
    yield* deleteAll(tx, locksRange(shareId, open.nodeId, open.openId))
    tx.announce({ kind: 'close', open })
  }
  if (snapshot === undefined) yield* deleteAll(tx, deletePendingRange(shareId))
}

function* deleteAll(tx: FileTx, range: KeyRange): Step<void> {
  const keys: readonly Key[] = (yield* scanAll(tx, range, COUNT)).map(({ key }) => key)
  for (const key of keys) tx.delete(key)
}
