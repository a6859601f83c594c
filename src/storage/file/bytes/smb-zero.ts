// FSCTL_SET_ZERO_DATA and FSCTL_QUERY_ALLOCATED_RANGES ([MS-FSA] 2.1.5.10) as transactions: zeroing a range frees its
// space, and the allocated ranges are those that were written.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { changedRanges } from '../../../extent/content/map-range.ts'
import type { Moment } from '../../../node/moment.ts'
import type { FileTx } from '../open/open.ts'
import { requireOpened } from '../open/opened-node.ts'
import { clearRange } from './range.ts'
import type { FrozenTimes } from '../tree/set-basic.ts'
import { breakForWrite } from '../cache/smb-cache.ts'
import { checkLocks } from '../open/smb-lock.ts'
import { lastWriteOf, type OpenedAt } from './smb-range.ts'

/** Ignores the part of the range beyond the end of the file. */
export function* zeroOpened(
  tx: FileTx,
  { address, open }: OpenedAt,
  { range, frozen }: { readonly range: ByteRange; readonly frozen: FrozenTimes },
  by: { readonly moment: Moment; readonly newId: number; readonly zerosId: number },
): Step<void> {
  const file = yield* requireOpened(tx, address, open)
  const inside = { from: range.from, to: Math.min(range.to, file.node.lengthBytes) }
  if (inside.from >= inside.to) return
  yield* checkLocks(tx, open, inside, 'write')
  yield* breakForWrite(tx, open, file.open.holder)
  yield* clearRange(tx, file, inside, { ...by, ...lastWriteOf(frozen) })
}

/** Returns at most `countMax` ranges. */
export function* allocatedRanges(
  tx: ReadTx,
  { address, open }: OpenedAt,
  range: ByteRange,
  countMax: number,
): Step<readonly ByteRange[]> {
  const { node } = yield* requireOpened(tx, address, open)
  const window = { from: range.from, to: Math.min(range.to, node.lengthBytes) }
  if (window.from >= window.to) return []
  const maps = { now: node.map, before: undefined }
  return (yield* changedRanges(tx, maps, window, countMax)).ranges
}
