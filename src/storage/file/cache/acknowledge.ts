// Break acknowledgements ([MS-SMB2] 3.3.5.22): an oplock is found by its open, a lease by its key.
import type { Step } from '../../../kv/kv.ts'
import { acknowledgeBreak, type Acknowledgement } from './cache-break.ts'
import { findLease } from './cache-grant.ts'
import { holdersOf, type FileOpen, type FileTx } from '../open/open.ts'

export function* acknowledgeOpen(tx: FileTx, open: FileOpen, state: number): Step<Acknowledgement> {
  const holders = yield* holdersOf(tx, open.shareId, open.nodeId)
  const found = holders.find(({ holder }) => holder === open.holder)
  if (found?.kind !== 'oplock') return 'not breaking'
  // A client may answer level II to a break to none; that is accepted as none.
  return acknowledgeBreak(tx, open, found, state & (found.breakingTo ?? 0))
}

export function* acknowledge(
  tx: FileTx,
  holder: string,
  state: number,
): Step<Acknowledgement | 'not there'> {
  const place = yield* findLease(tx, holder)
  if (place === undefined) return 'not there'
  const holders = yield* holdersOf(tx, place.shareId, place.nodeId)
  const found = holders.find((each) => each.holder === holder)
  return found === undefined ? 'not there' : acknowledgeBreak(tx, place, found, state)
}
