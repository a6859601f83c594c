// From format 1 to 2. The ids of messages began with the time of their put, and a second index had the time when
// they expire; now ids begin with that, and one index is enough. Who holds a message meanwhile can't delete it any
// more: it becomes visible again, as after every timeout.
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { keyAfter, prefixRange, type Key, type Kv, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes, type StoredRecord } from '../../kv/record.ts'
import { messageIdKey, messageKey, type Position } from './keys.ts'
import type { MessageRecord } from './message.ts'
import { messageIdAt } from './message-id.ts'

const IDS = prefixRange(encodeKey('message-id'))
const EXPIRIES = prefixRange(encodeKey('message-expiry'))
const RECORDS_PER_STEP = 500

export async function renewMessageIds(kv: Kv): Promise<void> {
  let from: Key | undefined = IDS.from
  while (from !== undefined) from = await kv.write(renewSomeFrom(from))
  while ((await kv.write(removeSomeExpiries)) > 0);
}

/** Gives the key to go on from; undefined at the end. */
function renewSomeFrom(from: Key) {
  return function* (tx: Tx): Step<Key | undefined> {
    const entries = yield* tx.scan({ from, to: IDS.to, countMax: RECORDS_PER_STEP })
    for (const { key, value } of entries) {
      const [, queueId, id] = decodeKey(key)
      // Those that have a new one stand in the same index.
      if (String(id)[14] === '7') yield* renew(tx, Number(queueId), String(id), value)
    }
    const last = entries.at(-1)
    return last === undefined ? undefined : keyAfter(last.key)
  }
}

function* renew(tx: Tx, queueId: number, oldId: string, place: StoredRecord): Step<void> {
  const key = messageKey(queueId, decodeRecord<Position>(place))
  const value = yield* tx.get(key)
  tx.delete(messageIdKey(queueId, oldId))
  // Of a queue that was deleted, half of it may have been swept.
  if (value === undefined) return
  const message = decodeRecord<MessageRecord>(value)
  const { insertedMs, expiresMs } = message
  const id = messageIdAt({ nowMs: insertedMs, expiresMs }, oldId)
  tx.put(key, encodeRecord({ ...message, id }, recordBytes(value)))
  tx.put(messageIdKey(queueId, id), place)
}

function* removeSomeExpiries(tx: Tx): Step<number> {
  const keys = yield* tx.scanKeys({ ...EXPIRIES, countMax: RECORDS_PER_STEP })
  for (const key of keys) tx.delete(key)
  return keys.length
}
