// Migration from format 1 to 2. In format 1 message ids began with the time of the put, and a second index had
// the time of expiry; now ids begin with the expiry, and one index is enough. A client that holds a message
// during the migration can't delete it any more: it becomes visible again, as after every timeout.
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

/** Returns the key to continue from; undefined at the end. */
function renewSomeFrom(from: Key) {
  return function* (tx: Tx): Step<Key | undefined> {
    const entries = yield* tx.scan({ from, to: IDS.to, countMax: RECORDS_PER_STEP })
    for (const { key, value } of entries) {
      const [, queueId, id] = decodeKey(key)
      // New ids, which are version 8, are in the same index.
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
  // If the queue was deleted, the sweep may have removed the message already.
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
