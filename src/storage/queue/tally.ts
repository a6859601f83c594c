// How many messages a queue has, and the last sequence number that one of them got. A record of its own:
// every put changes it, and the queue's own, which every request reads, stays as it is.
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { tallyKey } from './keys.ts'

export type Tally = { readonly messageCount: number; readonly lastSequence: number }

const EMPTY: Tally = { messageCount: 0, lastSequence: 0 }

export function* getTally(tx: ReadTx, queueId: number): Step<Tally> {
  const value = yield* tx.get(tallyKey(queueId))
  return value === undefined ? EMPTY : decodeRecord<Tally>(value)
}

export function saveTally(tx: Tx, queueId: number, tally: Tally): void {
  tx.put(tallyKey(queueId), encodeRecord(tally))
}
