// Persistent opens survive a restart of the server ([MS-SMB2] 3.3.5.9.10, on continuously available shares). Records of
// opens are volatile; persistent opens also have a durable copy, from which a start restores them.
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { leaseHolderKey, fileNodeKey, PERSISTENT_OPENS, persistentOpenKey } from '../keys.ts'
import {
  CACHE_WRITE,
  holdersOf,
  putHolder,
  putOpen,
  type CacheHolder,
  type FileOpen,
  type PersistentTerms,
} from './open.ts'

export type PersistentOpen = { readonly open: FileOpen; readonly cache?: CacheHolder }

const COUNT = 1_000

export function putPersistentOpen(tx: Tx, { open, cache }: PersistentOpen): void {
  tx.put(persistentOpenKey(open.openId), encodeRecord({ open, cache }))
}

export function deletePersistentOpen(tx: Tx, { openId }: Pick<FileOpen, 'openId'>): void {
  tx.delete(persistentOpenKey(openId))
}

/** Called when the file is renamed. */
export function* movePersistentOpen(tx: Tx, { openId, path, parentId }: FileOpen): Step<void> {
  const value = yield* tx.get(persistentOpenKey(openId))
  if (value === undefined) return
  const { open, ...rest } = decodeRecord<PersistentOpen>(value)
  putPersistentOpen(tx, { ...rest, open: { ...open, path, parentId } })
}

type RestoredOpen = FileOpen & { readonly persistent: PersistentTerms }

export function* hasPersistentOpens(tx: ReadTx): Step<boolean> {
  return (yield* tx.scanKeys({ ...PERSISTENT_OPENS, countMax: 1 })).length > 0
}

/** Deletes those whose file no longer exists. */
export function* restoreOpens(tx: Tx): Step<readonly RestoredOpen[]> {
  const restored: RestoredOpen[] = []
  for (const { value } of yield* scanAll(tx, PERSISTENT_OPENS, COUNT)) {
    const { open, cache } = decodeRecord<PersistentOpen>(value)
    const { shareId, nodeId, persistent } = open
    const exists = (yield* tx.get(fileNodeKey(shareId, nodeId))) !== undefined
    if (!exists || persistent === undefined) {
      deletePersistentOpen(tx, open)
      continue
    }
    putOpen(tx, open)
    if (cache !== undefined) yield* restoreHolder(tx, open, cache)
    restored.push({ ...open, persistent })
  }
  return restored
}

/** Breaks after the CREATE are not stored, so write caching is restored only for the sole holder of a file. */
function* restoreHolder(tx: Tx, open: FileOpen, cache: CacheHolder): Step<void> {
  const others = (yield* holdersOf(tx, open.shareId, open.nodeId)).filter(
    ({ holder }) => holder !== cache.holder,
  )
  for (const other of [cache, ...others]) {
    const state = others.length === 0 ? other.state : other.state & ~CACHE_WRITE
    putHolder(tx, open, { ...other, state })
  }
  if (cache.kind !== 'lease') return
  const { shareId, nodeId } = open
  tx.put(leaseHolderKey(cache.holder), encodeRecord({ shareId, nodeId }))
}
